#pragma once
#include <any>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "pipeline/embeds_file.hpp"
#include "pipeline/latents_file.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/run_part.hpp"
#include "pipeline/scheduler_choice.hpp"
#include "tensor/generator.hpp"
#include "weights/pipeline_folder.hpp"

namespace omnirt {

// Inputs that are files, or are in memory (`given`) and have no path.
struct ImageInput {
  std::filesystem::path path;
  io::ImageInfo info;
  std::shared_ptr<const io::Image> given{};
};

struct LatentsInput {
  std::filesystem::path path;
  LatentsInfo info;
  std::shared_ptr<const GivenLatents> given{};
};

struct EmbedsInput {
  std::filesystem::path path;
  EmbedsInfo info;
  std::shared_ptr<const GivenEmbeds> given{};
};

// A condition that no guider asks for, whose inputs are encoded with the others': for a block that
// combines the results.
struct ExtraCondition {
  Condition condition;
  std::map<std::string, std::vector<std::string>> texts;  // what its renames name
  std::string block;                                      // blocks before this one are run under it
};

// What is settled of a request during validation, as far as the checks of blocks are about it: each
// sees its own part of it (pipeline/checks.hpp). The rest is request/proposal.hpp's.
struct Settled {
  std::string task;
  PipelineFolder folder;  // with the request's components in place
  Facts facts;
  // What is wrong with the configs of components that describe no network.
  std::map<std::string, std::vector<Finding>> refused_components;
  Plan plan;
  RunPart part;  // the blocks of the plan that this run runs
  ConfigValues config;
  std::shared_ptr<const Guider> guider;
  std::vector<ExtraCondition> extra_conditions;
  SchedulerChoice scheduler;
  std::map<std::string, std::vector<std::string>> texts;       // inputs that are texts
  std::map<std::string, ImageInput> images;                    // inputs that are images
  std::map<std::string, std::vector<ImageInput>> image_lists;  // inputs that are several
  std::map<std::string, LatentsInput> latents;                 // inputs that are latents files
  std::map<std::string, EmbedsInput> embeds;                   // inputs that are embeddings
  std::shared_ptr<Noise> noise;  // generators in place of the seed's; null: none
  // What a saved run holds: condition ("" is shared) -> name -> value.
  std::map<std::string, std::map<std::string, std::any>> restored;
  std::set<std::string> unused_keys;
  bool writes_files = true;  // images and videos become files
  std::vector<Finding> errors;
  std::vector<Finding> warnings;

  bool ok() const { return errors.empty(); }
  // What two steps find alike is reported once.
  void error(Finding finding);
  void warn(Finding finding) { warnings.push_back(std::move(finding)); }
  // The findings of an error that some check threw.
  void take(const InvalidRequest& thrown);
  // A config key that this run does not use: reported where the user set it, and not in the record.
  void unused(const KeyInfo& key, const std::string& why, const std::string& way_out);
  // The network that a component's config describes; no weight has been read. What components must
  // have in common is checked on these, so that all read a config alike. Throws InvalidRequest
  // where the component is missing, refused, or not a T.
  template <class T>
  const T& network(const std::string& component) const {
    if (const T* found = facts.network<T>(component)) return *found;
    refuse_component(component);
  }

 private:
  [[noreturn]] void refuse_component(const std::string& name) const;
};

}  // namespace omnirt
