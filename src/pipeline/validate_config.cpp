#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "base/nearest.hpp"
#include "io/system_memory.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/presets.hpp"
#include "pipeline/validate.hpp"

namespace omnirt::validation {
namespace {

std::vector<const KeyInfo*> known_keys(const Plan& plan) {
  std::vector<const KeyInfo*> known = keys::of_every_run();
  for (const KeyInfo* key : plan.keys) {
    if (std::ranges::find(known, key) == known.end()) known.push_back(key);
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
      proposal.warn({where + name, shown(given),
                     fmt::format("has no effect on task {}", proposal.task), "remove it"});
    } else {
      std::vector<std::string> names;
      for (const KeyInfo* k : known) names.emplace_back(k->name);
      proposal.warn(
          {where + name, shown(given), "unknown config key, left aside", suggest(name, names)});
    }
  }
}

void check_dtype(Proposal& proposal) {
  std::string dtype = proposal.config.get(keys::dtype);
  for (const BackendInfo& info : proposal.catalogue->backends) {
    if (info.name != proposal.backend) continue;
    auto options = info.make()->capabilities().dtype_options;
    if (std::ranges::find(options, dtype) != options.end()) return;
    proposal.error({"config.dtype", dtype,
                    fmt::format("backend {} does not compute in it", info.name),
                    fmt::format("give one of: {}", fmt::join(options, ", "))});
  }
}

void check_levels(Proposal& proposal) {
  LevelPolicy policy = proposal.levels();
  if (!policy.only || !policy.required || at_least(*policy.only, *policy.required)) return;
  proposal.error({"config.require_level", to_string(*policy.required),
                  fmt::format("level {} is asked for, which is below it", to_string(*policy.only)),
                  "leave one of the two away"});
}

void check_memory(Proposal& proposal) {
  double available = io::available_memory_gb(), wanted = proposal.spec->resource_hint.min_ram_gb;
  if (available >= wanted) return;
  proposal.error(
      {"model", proposal.spec->id,
       fmt::format("needs {:.1f} GB of memory, {:.1f} GB are available", wanted, available),
       "free memory, or choose a smaller model"});
}

// What the request's preset sets for its task and model; nothing without a preset.
Json values_of_preset(const Proposal& proposal) {
  const Json& user = proposal.request.config;
  auto preset = user.find(keys::preset.name);
  if (preset == user.end() || !preset->is_string()) return Json::object();
  return preset_values(preset->get<std::string>(), proposal.task, proposal.spec->id);
}

// Whether the network predicts guided results by itself, told the scale (latent consistency
// models): then it is asked under one condition, as in the reference.
bool takes_guidance_scale(const Proposal& proposal) {
  return std::ranges::any_of(proposal.folder.components, [&](const auto& entry) {
    const ComponentFolder& component = entry.second;
    const nn::NetworkInfo* info = proposal.catalogue->find_network(component.class_name);
    const char* key = "time_cond_proj_dim";
    return info && info->role == "denoiser" && component.config.contains(key) &&
           component.config[key].is_number_integer();
  });
}

void draw_seed(Proposal& proposal) {
  if (proposal.config.find(keys::seed.name)) return;
  std::random_device device;
  proposal.config.set(keys::seed.name, static_cast<int64_t>(device()), Origin::drawn);
}

}  // namespace

void settle_config(Proposal& proposal) {
  auto known = known_keys(proposal.plan);
  for (const KeyInfo* key : known) {
    Json fallback = key->fallback_json();
    if (!fallback.is_null()) proposal.config.set(key->name, fallback, Origin::fallback);
  }
  const Json& user = proposal.request.config;
  merge(proposal, known, proposal.spec->default_config, Origin::model, "model.default_config.");
  merge(proposal, known, values_of_preset(proposal), Origin::preset, "preset.");
  merge(proposal, known, user, Origin::user, "config.");
  draw_seed(proposal);
  if (!proposal.request.guider.empty()) {
    // The guider's own settings stand under request.guider; showing the short keys beside them
    // would mislead.
    proposal.config.set(keys::guidance_scale.name, nullptr, Origin::derived);
    proposal.config.set(keys::guidance_rescale.name, nullptr, Origin::derived);
  }
  if (!proposal.backend.empty()) check_dtype(proposal);
  check_levels(proposal);
  check_memory(proposal);
}

void settle_guider(Proposal& proposal) {
  Json config = proposal.request.guider;
  const Json& user = proposal.request.config;
  if (takes_guidance_scale(proposal)) {
    if (!config.empty()) {
      proposal.error({"guider", shown(config),
                      "this model's network takes the guidance scale as an input",
                      "remove it, and set config.guidance_scale"});
    }
    proposal.guider = find_guider("none")->make(Json::object());
    return;
  }
  if (config.empty()) {
    Json merged = proposal.spec->default_config;
    merged.update(values_of_preset(proposal));
    merged.update(user);
    config["type"] = "cfg";
    for (const KeyInfo* key : {static_cast<const KeyInfo*>(&keys::guidance_scale),
                               static_cast<const KeyInfo*>(&keys::guidance_rescale)}) {
      std::vector<Finding> unused;  // settle_config reports the value
      if (!merged.contains(key->name) || merged[key->name].is_null()) continue;
      Json value = merged[key->name];
      if (check_value(*key, key->name, value, unused)) config[key->name] = value;
    }
  } else {
    for (const char* key : {keys::guidance_scale.name, keys::guidance_rescale.name}) {
      if (!user.contains(key)) continue;
      proposal.error({fmt::format("config.{}", key), shown(user[key]),
                      "given beside a guider of its own", "put it into guider, or remove guider"});
    }
  }
  std::vector<std::string> types;
  for (const GuiderInfo& info : all_guiders()) types.push_back(info.type);
  if (!config.contains("type") || !config["type"].is_string()) {
    proposal.error({"guider.type", "", "a guider names its type",
                    fmt::format("known: {}", fmt::join(types, ", "))});
    return;
  }
  std::string type = config["type"].get<std::string>();
  config.erase("type");
  const GuiderInfo* info = find_guider(type);
  if (!info) {
    proposal.error({"guider.type", type, "this build has no such guider", suggest(type, types)});
    return;
  }
  try {
    proposal.guider = info->make(config);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

void settle_scheduler(Proposal& proposal) {
  const ComponentFolder* component = proposal.folder.find("scheduler");
  if (!component) return;  // the plan has said so
  std::string own = component->class_name;
  Json config = component->config;
  std::string name = proposal.config.maybe(keys::scheduler).value_or(own);
  const SchedulerInfo* info = find_scheduler(name);
  if (!info) {
    std::vector<std::string> known;
    for (const SchedulerInfo& each : all_schedulers()) {
      known.push_back(each.class_name);
      known.insert(known.end(), each.short_names.begin(), each.short_names.end());
    }
    proposal.error(
        {"config.scheduler", name, "this build has no such scheduler", suggest(name, known)});
    return;
  }
  const auto& supported = proposal.spec->supported_schedulers;
  if (!supported.empty() && std::ranges::find(supported, info->class_name) == supported.end()) {
    proposal.warn({"config.scheduler", name,
                   fmt::format("not among those tested with '{}'", proposal.spec->id),
                   fmt::format("tested: {}", fmt::join(supported, ", "))});
  }
  if (proposal.family->adopt_scheduler) {
    const SchedulerInfo* folders = find_scheduler(own);
    proposal.family->adopt_scheduler({proposal.task, *info, folders == info}, config);
  }
  Json over = proposal.config.maybe(keys::scheduler_config).value_or(Json::object());
  for (const auto& [key, value] : over.items()) {
    if (std::ranges::find(info->config_keys, key) == info->config_keys.end()) {
      proposal.warn({"config.scheduler_config." + key, shown(value),
                     fmt::format("{} has no such setting; left aside", info->class_name),
                     suggest(key, info->config_keys)});
    }
    config[key] = value;
  }
  proposal.config.set(keys::scheduler.name, info->class_name,
                      proposal.config.find(keys::scheduler.name)
                          ? proposal.config.find(keys::scheduler.name)->origin
                          : Origin::model);
  proposal.scheduler = {info, config, "scheduler"};
  try {
    auto scheduler = proposal.scheduler.make();
    auto steps = proposal.config.maybe(keys::num_inference_steps);
    if (steps) scheduler->set_timesteps({.num_inference_steps = *steps, .eta = 0.0, .mu = {}});
    auto eta = proposal.config.maybe(keys::eta);
    if (eta && *eta > 0 && !scheduler->uses_eta()) {
      proposal.warn({"config.eta", fmt::format("{}", *eta),
                     fmt::format("{} does not use it", info->class_name),
                     "remove it, or use DDIMScheduler"});
    }
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

}  // namespace omnirt::validation
