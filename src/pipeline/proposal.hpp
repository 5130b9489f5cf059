#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "pipeline/model_spec.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/request.hpp"
#include "pipeline/scheduler_choice.hpp"

namespace omnirt {

struct ImageInput {
  std::string path;
  io::ImageInfo info;
};

// A request on its way through validation: what is settled so far, and all that was found wrong.
// After validation without errors it is all that a run needs, and no weight has been read.
struct Proposal {
  GenerateRequest request;
  const Catalogue* catalogue = nullptr;
  const Family* family = nullptr;
  const ModelSpec* spec = nullptr;
  PipelineFolder folder;  // with the request's components in place
  std::string task;
  std::string backend;
  std::vector<PassedOver> backends_passed_over;  // by `auto`, before the one that was chosen
  Facts facts;
  Plan plan;
  ConfigValues config;
  std::shared_ptr<const Guider> guider;
  SchedulerChoice scheduler;
  std::map<std::string, std::vector<std::string>> texts;  // inputs that are texts
  std::map<std::string, ImageInput> images;               // inputs that are pictures
  std::vector<Finding> errors;
  std::vector<Finding> warnings;

  bool ok() const { return errors.empty(); }
  void error(Finding finding) { errors.push_back(std::move(finding)); }
  void warn(Finding finding) { warnings.push_back(std::move(finding)); }
  // Which levels the config allows.
  LevelPolicy levels() const;
  // The findings of an error that some check threw.
  void take(const InvalidRequest& thrown);
  // A component's config.json; an empty object when it is not there.
  const Json& component_config(const std::string& name) const;
  Json inputs_json() const;
  // The request that gives this picture again, as written into files: settled values, no paths of
  // outputs.
  Json record() const;
  // {ok, resolved values with origins, errors, warnings}
  Json to_json() const;
};

}  // namespace omnirt
