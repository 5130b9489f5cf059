#pragma once
#include <any>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/report.hpp"
#include "io/image.hpp"
#include "pipeline/latents_file.hpp"
#include "pipeline/model_spec.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/run_part.hpp"
#include "pipeline/saved_run.hpp"
#include "pipeline/scheduler_choice.hpp"
#include "request/adapter_choice.hpp"
#include "request/request.hpp"

namespace omnirt {

struct ImageInput {
  std::string path;
  io::ImageInfo info;
};

struct LatentsInput {
  std::string path;
  LatentsInfo info;
};

// A condition that no guider asks for, whose inputs are encoded beside the others': for a block
// that puts what comes of them together.
struct ExtraCondition {
  Condition condition;
  std::map<std::string, std::vector<std::string>> texts;  // what its renames name
  std::string block;                                      // blocks before this one are run under it
};

// A request on its way through validation: what is settled so far, and all that was found wrong.
// After validation without errors it is all that a run needs, and no weight has been read.
struct Proposal {
  GenerateRequest request;
  const Catalogue* catalogue = nullptr;
  const Family* family = nullptr;
  const ModelSpec* spec = nullptr;
  PipelineFolder folder;  // with the request's components in place
  Json single_file;       // of a model that is one file: what it was recognised as; else null
  std::string task;
  std::string backend;
  std::vector<PassedOver> backends_passed_over;  // by `auto`, before the one that was chosen
  Facts facts;
  // What is wrong with the configs of components that describe no network.
  std::map<std::string, std::vector<Finding>> refused_components;
  Plan plan;
  ConfigValues config;
  std::vector<AdapterChoice> adapters;
  std::vector<AdapterReport> adapter_reports;  // once they are matched with the loaded topologies
  std::shared_ptr<const Guider> guider;
  std::vector<ExtraCondition> extra_conditions;
  SchedulerChoice scheduler;
  std::map<std::string, std::vector<std::string>> texts;       // inputs that are texts
  std::map<std::string, ImageInput> images;                    // inputs that are pictures
  std::map<std::string, std::vector<ImageInput>> image_lists;  // inputs that are several
  std::map<std::string, LatentsInput> latents;                 // inputs that are latents files
  RunPart part;                             // the blocks of the plan that this run runs
  std::shared_ptr<const SavedRun> resumed;  // what it carries on from; null: from the beginning
  std::set<std::string> absent;  // components known from the state alone, whose files are not here
  // What the state holds: condition ("" is shared) -> name -> value.
  std::map<std::string, std::map<std::string, std::any>> restored;
  // What a run that stops before the end has to leave, with the ports that will read it.
  std::map<std::string, const PortInfo*> across;
  std::string confine;  // the folder that the request's paths must lie in; "": anywhere
  std::string model;    // as a request names it wherever it runs: an id, or an absolute path
  std::set<std::string> unused_keys;
  std::vector<Finding> errors;
  std::vector<Finding> warnings;

  bool ok() const { return errors.empty(); }
  void error(Finding finding) { errors.push_back(std::move(finding)); }
  void warn(Finding finding) { warnings.push_back(std::move(finding)); }
  // A config key that this run makes no use of: told where the user set it, and not in the record.
  void unused(const KeyInfo& key, const std::string& why, const std::string& way_out);
  // The absolute path that the request's `field` means. Throws InvalidRequest where it lies outside
  // of the folder that requests are confined to.
  std::string path_of(const std::string& field, const std::string& given) const;
  // The texts of an input; empty where the request has none.
  const std::vector<std::string>& texts_of(const std::string& input) const;
  // Which levels the config allows.
  LevelPolicy levels() const;
  // The findings of an error that some check threw.
  void take(const InvalidRequest& thrown);
  // The network that a component's config describes; no weight has been read. What components must
  // have in common is checked on these, so that all read a config alike. Throws InvalidRequest
  // where the component is missing, refused, or not a T.
  template <class T>
  const T& network(const std::string& component) const {
    if (const T* found = facts.network<T>(component)) return *found;
    refuse_component(component);
  }
  Json inputs_json() const;
  // The request as settled: values that the run uses, no paths of outputs.
  Json record() const;
  // {ok, resolved values with origins, errors, warnings}
  Json to_json() const;

 private:
  [[noreturn]] void refuse_component(const std::string& name) const;
};

}  // namespace omnirt
