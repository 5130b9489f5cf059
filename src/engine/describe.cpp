#include "engine/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/nearest.hpp"
#include "guiders/classifier_free_guidance.hpp"
#include "pipeline/component_networks.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/plan.hpp"
#include "request/known_things.hpp"
#include "request/model_search.hpp"
#include "request/single_file.hpp"
#include "weights/pipeline_folder.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

// Inputs are listed as a guided run takes them: with what the guider puts in their place.
std::vector<Condition> usual_conditions() {
  return ClassifierFreeGuidance({}).conditions();
}

// With the model's default, where it has one of its own.
Json key_json(const KeyInfo& key, const ModelSpec& spec) {
  Json json = {{"name", key.name},
               {"default", spec.default_config.value(key.name, key.fallback_json())},
               {"flag", "--" + key.flag_name()},
               {"help", key.help}};
  if (key.min > -1e300) json["min"] = key.min;
  if (key.max < 1e300) json["max"] = key.max;
  if (!key.choice_list().empty()) json["choices"] = key.choice_list();
  return json;
}

// The workflow of a task: that of the inputs that the task takes.
Plan plan_of(const Catalogue& catalogue, const ModelSpec& spec) {
  const Family& family = *catalogue.family_of(spec);
  Facts facts = usual_facts(catalogue, spec);
  auto task = std::ranges::find(family.tasks, spec.task, &TaskInputs::task);
  if (task != family.tasks.end()) facts.inputs = task->inputs;
  facts.task = spec.task;
  return make_plan(family.blocks, facts, usual_conditions());
}

Json workflow_json(const Plan& plan) {
  Json blocks = Json::array();
  for (const auto& block : plan.blocks) {
    Json one = {{"name", block->name()},
                {"stage", to_string(block->stage())},
                {"trigger", block->trigger().text()}};
    for (const PortInfo& port : block->ports()) {
      static const char* kinds[] = {"components",      "config",  "inputs",
                                    "optional_inputs", "outputs", "inouts"};
      one[kinds[static_cast<int>(port.kind)]].push_back(port.name);
    }
    blocks.push_back(std::move(one));
  }
  return blocks;
}

Json entry_json(const Catalogue& catalogue, const ModelSpec& spec) {
  if (!spec.alias_of.empty())
    return {{"id", spec.id}, {"task", spec.task}, {"alias_of", spec.alias_of}};
  Plan plan = plan_of(catalogue, spec);
  Json required = Json::array(), optional = Json::array(), keys = Json::array();
  for (const RequestInput& input : plan.inputs)
    (input.required ? required : optional).push_back(input.name);
  for (const KeyInfo* key : plan.keys) keys.push_back(key->name);
  for (const KeyInfo* key : keys::of_every_run()) {
    if (std::ranges::find(plan.keys, key) == plan.keys.end()) keys.push_back(key->name);
  }
  return {{"id", spec.id},
          {"task", spec.task},
          {"family", catalogue.family_of(spec)->name},
          {"summary", spec.summary},
          {"maturity", spec.maturity},
          {"default_backend", spec.default_backend},
          {"resource_hint",
           {{"min_vram_gb", spec.resource_hint.min_vram_gb},
            {"min_ram_gb", spec.resource_hint.min_ram_gb}}},
          {"required_inputs", required},
          {"optional_inputs", optional},
          {"supported_config", keys},
          {"default_config", spec.default_config},
          {"default_config_with", spec.default_config_with},
          {"supported_schedulers", spec.supported_schedulers},
          {"adapter_kinds", spec.adapter_kinds},
          {"artifact_kind", spec.artifact_kind},
          {"example", spec.example},
          {"hub_ids", spec.hub_ids},
          {"found_at", find_model(spec.id, spec.hub_ids).native()}};
}

}  // namespace

std::vector<const KeyInfo*> all_keys(const Catalogue& catalogue) {
  std::vector<const KeyInfo*> all;
  auto add = [&](const KeyInfo* key) {
    bool known = std::ranges::any_of(
        all, [&](const KeyInfo* k) { return std::string(k->name) == key->name; });
    if (!known) all.push_back(key);
  };
  for (const Family& family : catalogue.families) {
    for (const auto& block : family.blocks) {
      for (const PortInfo& port : block->ports()) {
        if (port.key) add(port.key);
      }
    }
  }
  for (const KeyInfo* key : keys::of_every_run()) add(key);
  return all;
}

Json describe_models(const Catalogue& catalogue) {
  Json entries = Json::array();
  for (const Family& family : catalogue.families) {
    for (const ModelSpec& spec : family.entries) entries.push_back(entry_json(catalogue, spec));
  }
  return entries;
}

namespace {

Json modes_json(const Capabilities& can) {
  Json modes = Json::array();
  for (const ComputeMode& mode : can.modes) {
    Json one;
    for (Level level : mode.levels) one["levels"].push_back(to_string(level));
    for (const ModeOption& option : mode_options) one[option.key] = mode.*option.values;
    modes.push_back(std::move(one));
  }
  return modes;
}

}  // namespace

namespace {

Json device_json(const BackendInfo& info, int index) {
  const Availability found = availability(info, index);
  Json one = {{"device", DeviceId{info.name, index}.text()},
              {"available", found.available},
              {"reason", found.reason},
              {"way_out", found.way_out}};
  if (!found.available) return one;
  const auto backend = info.make(index);
  const Capabilities can = backend->capabilities();
  for (const ModeOption& option : mode_options)
    one[std::string(option.key) + "_options"] = can.options(option.values);
  one["modes"] = modes_json(can);
  one["compile_available"] = can.compile_available;
  one["supports_graph_mode"] = can.supports_graph_mode;
  one["overrides"] = can.overrides;
  one["available_memory_gb"] = backend->available_memory_gb();
  return one;
}

}  // namespace

// What holds for a backend is what holds for its first device.
Json describe_backends(const Catalogue& catalogue) {
  Json all = Json::array();
  bool taken = false;
  for (const BackendInfo& info : catalogue.backends) {
    Json one = device_json(info, 0);
    one.erase("device");
    one["name"] = info.name;
    const bool available = one["available"].get<bool>();
    one["automatic"] = available && info.automatic && !taken;
    taken = taken || one["automatic"].get<bool>();
    one["devices"] = Json::array();
    for (int i = 0; available && i < device_count(info); ++i)
      one["devices"].push_back(device_json(info, i));
    all.push_back(std::move(one));
  }
  return all;
}

namespace {

// Where a model that is no registered id is; empty where it is nowhere.
fs::path place_of(const std::string& model) {
  if (looks_like_path(model, model)) return model;
  return find_model(model, {});
}

// The entry that a folder or file of weights is a model of.
const ModelSpec& entry_at(const Catalogue& catalogue, const std::string& model,
                          const fs::path& place) {
  std::error_code error;
  PipelineFolder folder = fs::is_regular_file(place, error)
                              ? open_single_file(catalogue, place).folder
                              : open_pipeline_folder(place);
  const Family* family = catalogue.family_of_class(folder.class_name);
  const ModelSpec* spec = family ? catalogue.find_entry(family->variant_of(folder), "") : nullptr;
  if (spec) return *spec;
  throw Unsupported({"model", model,
                     fmt::format("holds a {}, which this build does not have", folder.class_name),
                     "omnirt models lists what it has"});
}

Json describe_task(const Catalogue& catalogue, const ModelSpec& spec) {
  Json entry = entry_json(catalogue, spec);
  Plan plan = plan_of(catalogue, spec);
  Json keys = Json::array();
  for (const KeyInfo* key : plan.keys) keys.push_back(key_json(*key, spec));
  entry["keys"] = keys;
  entry["workflow"] = workflow_json(plan);
  return entry;
}

}  // namespace

Json describe_model(const Catalogue& catalogue, const std::string& model) {
  const ModelSpec* first =
      catalogue.find_entry(model.empty() ? catalogue.default_model : model, "");
  fs::path place = first ? find_model(first->id, first->hub_ids) : place_of(model);
  if (!first && place.empty())
    throw UnknownModel({"model", model, "unknown model", suggest(model, catalogue.ids())});
  const ModelSpec& spec = first ? *first : entry_at(catalogue, model, place);
  Json tasks = Json::array();
  for (const std::string& task : catalogue.tasks_of(spec.id)) {
    tasks.push_back(describe_task(catalogue, *catalogue.find_entry(spec.id, task)));
    tasks.back()["found_at"] = place.native();
  }
  return {{"id", spec.id}, {"things", read_known_things(place)}, {"tasks", tasks}};
}

}  // namespace omnirt
