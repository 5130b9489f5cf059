#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "guiders/guider.hpp"
#include "nn/network.hpp"
#include "pipeline/block.hpp"
#include "runtime/resolve.hpp"
#include "schedulers/scheduler.hpp"
#include "weights/pipeline_folder.hpp"

namespace omnirt {

struct ResourceHint {
  double min_vram_gb = 0;
  double min_ram_gb = 0;
  std::string dtype = "fp32";
};

// A registry entry, keyed (id, task). Inputs and config keys come from the blocks; this adds what
// blocks cannot know.
struct ModelSpec {
  std::string id;
  std::string task;
  std::string default_backend = "auto";
  ResourceHint resource_hint;
  Json default_config = Json::object();
  std::vector<std::string> supported_schedulers;  // class names; empty: all
  std::vector<std::string> adapter_kinds;
  std::string artifact_kind = "image";
  std::string maturity = "beta";  // experimental | beta | stable
  std::string summary;
  std::string example;               // a command line
  std::string alias_of;              // another id that this one stands for
  std::vector<std::string> hub_ids;  // where its weights may lie in the local Hugging Face cache
};

// A task of a family, and which of the inputs that tell its tasks apart it takes.
struct TaskInputs {
  std::string task;
  std::set<std::string> inputs;
};

// A scheduler taken over for a task: `own` when it is of the class that the folder names, whose
// defaults then count.
struct SchedulerAdoption {
  std::string task;
  const SchedulerInfo& info;
  bool own = true;
};

// Models that share a block list.
struct Family {
  std::string name;
  std::vector<TaskInputs> tasks;
  BlockList blocks;
  std::vector<ModelSpec> entries;
  std::vector<std::string> pipeline_classes;  // _class_name in model_index.json
  // The id of the entry that a folder is a variant of.
  std::function<std::string(const PipelineFolder&)> variant_of;
  // What the reference's pipelines change in a scheduler's config as they take it over; may be
  // empty.
  std::function<void(const SchedulerAdoption& adoption, Json& config)> adopt_scheduler;
};

// All that this build holds. The only thing that names families, networks and backends is
// catalogue/catalogue.cpp.
struct Catalogue {
  std::vector<Family> families;
  std::vector<nn::NetworkInfo> networks;
  std::vector<BackendInfo> backends;
  std::string default_model;

  const nn::NetworkInfo* find_network(const std::string& class_name) const;
  // The entry of (id, task), aliases followed; task "" takes the id's first. Null when there is
  // none.
  const ModelSpec* find_entry(const std::string& id, const std::string& task) const;
  const Family* family_of(const ModelSpec& spec) const;
  const Family* family_of_class(const std::string& pipeline_class) const;
  std::vector<std::string> ids() const;
  std::vector<std::string> tasks_of(const std::string& id) const;
};

inline const std::vector<std::string>& task_names() {
  static const std::vector<std::string> names{"text2image", "image2image", "inpaint",    "edit",
                                              "text2video", "image2video", "video2video"};
  return names;
}

}  // namespace omnirt
