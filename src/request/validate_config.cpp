#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "io/system_memory.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/presets.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

std::vector<const KeyInfo*> known_keys(const Plan& plan) {
  std::vector<const KeyInfo*> known = keys::of_every_run();
  for (const KeyInfo* key : plan.keys) {
    bool there = std::ranges::any_of(
        known, [&](const KeyInfo* k) { return std::string_view(k->name) == key->name; });
    if (!there) known.push_back(key);
  }
  return known;
}

// Whether another workflow of the family has the key: then it is a key at the wrong place, not a
// slip.
bool in_family(const Family& family, const std::string& name) {
  return std::ranges::any_of(family.blocks, [&](const auto& block) {
    return std::ranges::any_of(block->ports(),
                               [&](const PortInfo& port) { return port.key && port.name == name; });
  });
}

// Values of one source. A later layer overrides an earlier one.
struct Layer {
  Origin origin;
  std::string where;  // before a key's name in findings
  Json values;
};

// What a state says of its run's config, but for files and how it was run: it is not trusted with
// these.
Json recorded_config(const Proposal& proposal) {
  Json config = Json::object();
  if (proposal.resumed && proposal.resumed->record.contains("config"))
    config = proposal.resumed->record["config"];
  if (!config.is_object()) return Json::object();
  for (const KeyInfo* key : keys::about_files()) config.erase(key->name);
  return config;
}

// The state's values by the origin that each had in its run.
void add_recorded(const Proposal& proposal, std::vector<Layer>& layers) {
  if (!proposal.resumed) return;
  const Json recorded = recorded_config(proposal);
  for (Origin origin : {Origin::fallback, Origin::model, Origin::preset, Origin::user,
                        Origin::drawn, Origin::derived}) {
    layers.push_back({origin, "config.resume: ", Json::object()});
    for (const auto& [name, value] : recorded.items()) {
      auto given = proposal.resumed->origins.find(name);
      const std::string word = given == proposal.resumed->origins.end() ? "user" : given->second;
      if (word == to_string(origin)) layers.back().values[name] = value;
    }
  }
}

// What the request's preset sets for its task and model; nothing without a preset.
Json values_of_preset(const Proposal& proposal) {
  const Json given = proposal.request.config.value(keys::preset.name, Json());
  auto preset = choice_of<Preset>(given.is_string() ? given.get<std::string>() : "");
  return preset ? preset_values(*preset, proposal.task, *proposal.spec) : Json::object();
}

// All that settles a run's config but the keys' own defaults, the weakest first. The command line's
// flags are part of the request.
std::vector<Layer> config_layers(const Proposal& proposal) {
  std::vector<Layer> layers;
  layers.push_back(
      {Origin::model, "model.default_config.", proposal.spec->defaults(proposal.folder)});
  layers.push_back({Origin::preset, "preset.", values_of_preset(proposal)});
  add_recorded(proposal, layers);
  layers.push_back({Origin::user, "config.", proposal.request.config});
  return layers;
}

// Whether the user chose the value: the workflow depends on these.
bool is_chosen(Origin origin) {
  return origin == Origin::model || origin == Origin::preset || origin == Origin::user;
}

void set_defaults(Proposal& proposal, const std::vector<const KeyInfo*>& known) {
  for (const KeyInfo* key : known) {
    Json fallback = key->fallback_json();
    if (!fallback.is_null()) proposal.config.set(key->name, fallback, Origin::fallback);
  }
}

// Sets each value of a layer that fits its key; a finding for each other.
void merge(Proposal& proposal, const std::vector<const KeyInfo*>& known, const Layer& layer) {
  for (const auto& item : layer.values.items()) {
    const std::string& name = item.key();
    const Json& given = item.value();
    auto key = std::ranges::find_if(known, [&](const KeyInfo* k) { return name == k->name; });
    if (key != known.end()) {
      if (given.is_null()) continue;
      Json value = given;
      if (check_value(**key, layer.where + name, value, proposal.errors))
        proposal.config.set(name, value, layer.origin);
    } else if (layer.origin != Origin::user) {
      continue;  // a model's or preset's value for another workflow
    } else if (in_family(*proposal.family, name)) {
      key_without_effect(proposal, layer.where, name, given);
    } else {
      unknown_key(proposal, known, layer.where, name, given);
    }
  }
}

// A run's record lacks the keys that it did not use.
void hide_unrecorded(Proposal& proposal, const std::vector<const KeyInfo*>& known) {
  if (!proposal.resumed) return;
  const Json recorded = recorded_config(proposal);
  for (const KeyInfo* key : known) {
    if (!recorded.contains(key->name) && !proposal.request.config.contains(key->name))
      proposal.unused_keys.insert(key->name);
  }
}

// Whether some level is allowed at all.
bool check_levels(Proposal& proposal) {
  LevelPolicy policy = proposal.levels();
  if (!policy.only || !policy.required || at_least(*policy.only, *policy.required)) return true;
  proposal.error({"config.require_level", to_string(*policy.required),
                  fmt::format("level {} is asked for, which is below it", to_string(*policy.only)),
                  "omit one of the two"});
  return false;
}

// What a run takes at most for each byte of its weights: with fp16 weights widened by a level that
// keeps no weights as they are stored, and as much again for tensors.
constexpr double memory_of_weights = 4;

// Hints and files are counted in GB, a backend's free memory in GiB.
constexpr double gb_of_a_gib = 0x1p30 / 1e9;

// The files of weights in a model's folder.
double weights_gb(const PipelineFolder& folder) {
  double bytes = 0;
  for (const auto& [name, component] : folder.components) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(component.folder, error)) {
      if (entry.path().extension() != ".safetensors") continue;
      uintmax_t size = entry.file_size(error);
      if (!error) bytes += static_cast<double>(size);
    }
  }
  return bytes / 1e9;
}

// A hint: what a run needs is known, and refused, when its calls are planned.
void warn_of_memory(Proposal& proposal) {
  // The hint is about one device for the whole model.
  if (proposal.device.backend.empty() || !proposal.placed.empty()) return;
  const auto backend = make_backend(proposal.catalogue->backends, proposal.device);
  // A scripted device of the stub has memory of its own, and tensors on the cpu.
  bool own = !backend->device().is_cpu() || backend->device_memory() != nullptr;
  const ResourceHint& hint = proposal.spec->resource_hint;
  // The hint is the stock model's: a folder with smaller weights needs less.
  double wanted = std::min(own ? hint.min_vram_gb : hint.min_ram_gb,
                           memory_of_weights * weights_gb(proposal.folder));
  double available = backend->available_memory_gb() * gb_of_a_gib;
  if (available >= wanted) return;
  proposal.warn({"model", proposal.spec->id,
                 fmt::format("takes about {:.1f} GB of {} memory, {:.1f} GB are available", wanted,
                             own ? "the device's" : "the machine's", available),
                 "free memory, or make a smaller image; a run that does not fit is refused as it "
                 "begins"});
}

void draw_seed(Proposal& proposal) {
  const auto& used = proposal.plan.keys;
  bool draws = std::ranges::any_of(
      used, [](const KeyInfo* key) { return std::string_view(key->name) == keys::seed.name; });
  if (!draws || proposal.config.find(keys::seed.name)) return;
  std::random_device device;
  proposal.config.set(keys::seed.name, static_cast<int64_t>(device()), Origin::drawn);
}

}  // namespace

void settle_config(Proposal& proposal) {
  auto known = known_keys(proposal.plan);
  set_defaults(proposal, known);
  for (const Layer& layer : config_layers(proposal)) merge(proposal, known, layer);
  hide_unrecorded(proposal, known);
  draw_seed(proposal);
  warn_of_unguided(proposal);
  hide_unused_guidance(proposal);
  settle_devices(proposal);
  if (check_levels(proposal) && !proposal.device.backend.empty()) check_backend_modes(proposal);
  check_memory(proposal);
  warn_of_memory(proposal);
}

void settle_choices(Proposal& proposal) {
  Json& chosen = proposal.facts.config = Json::object();
  for (const Layer& layer : config_layers(proposal)) {
    if (is_chosen(layer.origin)) chosen.update(layer.values);
  }
}

}  // namespace omnirt::validation
