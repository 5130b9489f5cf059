#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/nearest.hpp"
#include "io/system_memory.hpp"
#include "nn/denoiser_network.hpp"
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

// Without what a state says of files and of how it was run: it is not trusted with these.
Json recorded_config(const Proposal& proposal) {
  Json config = Json::object();
  if (proposal.resumed && proposal.resumed->record.contains("config"))
    config = proposal.resumed->record["config"];
  if (!config.is_object()) return Json::object();
  for (const KeyInfo* key : keys::about_files()) config.erase(key->name);
  return config;
}

// Sets each value that fits; what does not fit is a finding under `where`.
void merge(Proposal& proposal, const std::vector<const KeyInfo*>& known, const Json& values,
           Origin origin, const std::string& where) {
  for (const auto& item : values.items()) {
    const std::string& name = item.key();
    const Json& given = item.value();
    auto key = std::ranges::find_if(known, [&](const KeyInfo* k) { return name == k->name; });
    if (key != known.end()) {
      if (given.is_null()) continue;
      Json value = given;
      if (check_value(**key, where + name, value, proposal.errors))
        proposal.config.set(name, value, origin);
    } else if (origin != Origin::user) {
      continue;  // a model's or preset's value for another workflow
    } else if (in_family(*proposal.family, name)) {
      key_without_effect(proposal, where, name, given);
    } else {
      unknown_key(proposal, known, where, name, given);
    }
  }
}

// What the state was made with, each value with the origin that it had. What a run makes no use of
// is not in its record.
void merge_recorded(Proposal& proposal, const std::vector<const KeyInfo*>& known) {
  if (!proposal.resumed) return;
  const Json recorded = recorded_config(proposal);
  for (const KeyInfo* key : known) {
    if (!recorded.contains(key->name) && !proposal.request.config.contains(key->name))
      proposal.unused_keys.insert(key->name);
  }
  for (Origin origin : {Origin::fallback, Origin::model, Origin::preset, Origin::user,
                        Origin::drawn, Origin::derived}) {
    Json values = Json::object();
    for (const auto& [name, value] : recorded.items()) {
      auto given = proposal.resumed->origins.find(name);
      std::string word = given == proposal.resumed->origins.end() ? "user" : given->second;
      if (word == to_string(origin)) values[name] = value;
    }
    merge(proposal, known, values, origin, "config.resume: ");
  }
}

// Null where none was settled on.
std::unique_ptr<Backend> backend_of(const Proposal& proposal) {
  for (const BackendInfo& info : proposal.catalogue->backends) {
    if (info.name == proposal.backend) return info.make();
  }
  return nullptr;
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
  std::unique_ptr<Backend> backend = backend_of(proposal);
  if (!backend) return;
  bool own = !backend->device().is_cpu();
  const ResourceHint& hint = proposal.spec->resource_hint;
  // The hint is the stock model's: a folder with smaller weights needs less.
  double wanted = std::min(own ? hint.min_vram_gb : hint.min_ram_gb,
                           memory_of_weights * weights_gb(proposal.folder));
  double available = backend->available_memory_gb();
  if (available >= wanted) return;
  proposal.warn({"model", proposal.spec->id,
                 fmt::format("takes about {:.1f} GB of {} memory, {:.1f} GB are available", wanted,
                             own ? "the device's" : "the machine's", available),
                 "free memory, or make a smaller image; a run that does not fit is refused as it "
                 "begins"});
}

// What the request's preset sets for its task and model; nothing without a preset.
Json values_of_preset(const Proposal& proposal) {
  const Json given = proposal.request.config.value(keys::preset.name, Json());
  auto preset = choice_of<Preset>(given.is_string() ? given.get<std::string>() : "");
  return preset ? preset_values(*preset, proposal.task, *proposal.spec) : Json::object();
}

void draw_seed(Proposal& proposal) {
  const auto& used = proposal.plan.keys;
  bool draws = std::ranges::any_of(
      used, [](const KeyInfo* key) { return std::string_view(key->name) == keys::seed.name; });
  if (!draws || proposal.config.find(keys::seed.name)) return;
  std::random_device device;
  proposal.config.set(keys::seed.name, static_cast<int64_t>(device()), Origin::drawn);
}

// The network itself reads the key, whatever the guider does.
bool is_network_input(const Proposal& proposal, const KeyInfo* key) {
  return key == &keys::guidance_scale && takes_guidance_scale(proposal);
}

// Short keys next to a guider whose settings are under request.guider, and those of another
// family's usual guider, would mislead.
void hide_unused_guidance(Proposal& proposal) {
  const auto& usual = proposal.family->guider_keys;
  std::vector<const KeyInfo*> hidden = default_guider_keys();
  std::erase_if(hidden, [&](const KeyInfo* key) { return is_network_input(proposal, key); });
  if (proposal.request.guider.empty())
    std::erase_if(hidden, [&](const KeyInfo* key) { return std::ranges::count(usual, key) > 0; });
  else
    hidden.insert(hidden.end(), usual.begin(), usual.end());
  for (const KeyInfo* key : hidden) proposal.config.set(key->name, nullptr, Origin::derived);
}

// The usual guider of the family with what the short keys say; settle_config reports their values.
Json usual_guider(const Proposal& proposal) {
  Json merged = proposal.spec->defaults(proposal.folder);
  merged.update(values_of_preset(proposal));
  merged.update(recorded_config(proposal));
  merged.update(proposal.request.config);
  Json config{{"type", proposal.family->guider}};
  for (const KeyInfo* key : proposal.family->guider_keys) {
    std::vector<Finding> unused;
    if (!merged.contains(key->name) || merged[key->name].is_null()) continue;
    Json value = merged[key->name];
    if (check_value(*key, key->name, value, unused)) config[key->name] = value;
  }
  return config;
}

// Short keys of guidance that this request's guider does not read.
void check_short_keys(Proposal& proposal) {
  const Json& user = proposal.request.config;
  bool own = !proposal.request.guider.empty();
  const auto& usual = proposal.family->guider_keys;
  std::vector<std::string> names;
  for (const KeyInfo* key : usual) names.emplace_back(key->name);
  auto refuse = [&](const KeyInfo* key, const std::string& what, const std::string& way_out) {
    if (!user.contains(key->name)) return;
    proposal.error({fmt::format("config.{}", key->name), shown(user[key->name]), what, way_out});
  };
  for (const KeyInfo* key : usual) {
    if (own)
      refuse(key, "given together with a guider",
             fmt::format("give guider.{}, or remove guider", key->name));
  }
  for (const KeyInfo* key : default_guider_keys()) {
    if (std::ranges::count(usual, key) > 0 || is_network_input(proposal, key)) continue;
    refuse(key, fmt::format("this model's guidance is said by {}", fmt::join(names, ", ")),
           "set those, or give a guider");
  }
}

// A guider that says nothing of settings for which the model has values takes the model's.
void take_model_guidance(const Proposal& proposal, const GuiderInfo& info, Json& config) {
  const Json defaults = proposal.spec->defaults(proposal.folder);
  for (const KeyInfo* key : info.keys) {
    if (!config.contains(key->name) && defaults.contains(key->name))
      config[key->name] = defaults[key->name];
  }
}

}  // namespace

bool takes_guidance_scale(const Proposal& proposal) {
  return std::ranges::any_of(proposal.facts.components, [](const auto& entry) {
    const auto* network = dynamic_cast<const nn::DenoiserNetwork*>(entry.second.get());
    return network && network->takes_guidance_scale();
  });
}

void settle_config(Proposal& proposal) {
  auto known = known_keys(proposal.plan);
  for (const KeyInfo* key : known) {
    Json fallback = key->fallback_json();
    if (!fallback.is_null()) proposal.config.set(key->name, fallback, Origin::fallback);
  }
  const Json& user = proposal.request.config;
  merge(proposal, known, proposal.spec->defaults(proposal.folder), Origin::model,
        "model.default_config.");
  merge(proposal, known, values_of_preset(proposal), Origin::preset, "preset.");
  merge_recorded(proposal, known);
  merge(proposal, known, user, Origin::user, "config.");
  draw_seed(proposal);
  hide_unused_guidance(proposal);
  if (check_levels(proposal) && !proposal.backend.empty()) check_backend_modes(proposal);
  check_memory(proposal);
  warn_of_memory(proposal);
}

void settle_choices(Proposal& proposal) {
  Json& chosen = proposal.facts.config;
  chosen = proposal.spec->defaults(proposal.folder);
  chosen.update(values_of_preset(proposal));
  chosen.update(given_when_saved(proposal));
  chosen.update(proposal.request.config);
}

void settle_guider(Proposal& proposal) {
  Json config = proposal.request.guider;
  if (takes_guidance_scale(proposal)) {
    if (!config.empty()) {
      proposal.error({"guider", shown(config),
                      "this model's network takes the guidance scale as an input",
                      "remove it, and set config.guidance_scale"});
      config = Json::object();
    }
    // Where the family's usual guider has a scale of its own, it is independent of the network's.
    if (std::ranges::count(proposal.family->guider_keys, &keys::guidance_scale) > 0) {
      proposal.guider = proposal.catalogue->find_guider("none")->make(Json::object());
      return;
    }
  }
  check_short_keys(proposal);
  if (config.empty()) config = usual_guider(proposal);
  std::vector<std::string> types;
  for (const GuiderInfo& info : proposal.catalogue->guiders) types.push_back(info.type);
  if (!config.contains("type") || !config["type"].is_string()) {
    proposal.error({"guider.type", "", "a guider names its type",
                    fmt::format("known: {}", fmt::join(types, ", "))});
    return;
  }
  std::string type = config["type"].get<std::string>();
  config.erase("type");
  const GuiderInfo* info = proposal.catalogue->find_guider(type);
  if (!info) {
    proposal.error({"guider.type", type, "this build has no such guider", suggest(type, types)});
    return;
  }
  take_model_guidance(proposal, *info, config);
  try {
    proposal.guider = info->make(config);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

}  // namespace omnirt::validation
