#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "pipeline/keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

constexpr size_t most_levels = 10001;  // a schedule's most steps, and where the last ends

// A scheduler that does not suit what the model predicts. `name` is what the request calls it.
void warn_of_scheduler(Proposal& proposal, const SchedulerInfo& info, const std::string& name,
                       const std::string& own_class) {
  const auto& supported = proposal.spec->supported_schedulers;
  const SchedulerInfo* own = proposal.catalogue->find_scheduler(own_class);
  bool of_edm = own && own->made_for == SchedulerFor::edm;
  if (of_edm != (info.made_for == SchedulerFor::edm)) {
    proposal.warn({"config.scheduler", name,
                   of_edm ? "the model has the preconditioning of EDM, which this scheduler has not"
                          : "for models with the preconditioning of EDM, which this one has not; "
                            "the image will be spoilt",
                   fmt::format("use {}, the model's own", own_class)});
    return;
  }
  if (supported.empty() || std::ranges::count(supported, info.class_name) > 0) return;
  std::string why =
      fmt::format("no run of '{}' with it is compared with the reference's", proposal.spec->id);
  std::string way_out =
      fmt::format("set config.scheduler to one of: {}", fmt::join(supported, ", "));
  bool of_flow = own && own->made_for == SchedulerFor::flow_matching;
  if (info.made_for == SchedulerFor::flow_matching && !of_flow) {
    why = fmt::format(
        "for models of flow matching; '{}' predicts noise, and the image will be spoilt",
        proposal.spec->id);
  } else if (info.made_for == SchedulerFor::consistency) {
    // Adapters distil too (LCM-LoRA), which their files do not say.
    if (takes_guidance_scale(proposal) || !proposal.adapters.empty()) return;
    why = fmt::format(
        "for models distilled for consistency; '{}' is not, and the image will lack detail",
        proposal.spec->id);
    way_out = "add an LCM-LoRA; or " + way_out;
  }
  proposal.warn({"config.scheduler", name, why, way_out});
}

// The scheduler that the request names, or the model's own.
std::optional<NamedScheduler> chosen(Proposal& proposal, const ComponentFolder& component) {
  auto name = proposal.config.maybe(keys::scheduler);
  try {
    return proposal.catalogue->named_scheduler(name.value_or(component.class_name), component);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
    return std::nullopt;
  }
}

// What the request sets of the scheduler's config: what the scheduler's name implies, and the
// request's own settings over it.
Json settings_of(Proposal& proposal, const NamedScheduler& named) {
  Json own = proposal.config.maybe(keys::scheduler_config).value_or(Json::object());
  for (const auto& [key, value] : own.items()) {
    if (std::ranges::find(named.info->config_keys, key) != named.info->config_keys.end()) continue;
    proposal.warn({"config.scheduler_config." + key, shown(value),
                   fmt::format("{} has no such setting; ignored", named.info->class_name),
                   suggest(key, named.info->config_keys)});
  }
  Json settings = named.settings;
  settings.update(own);
  return settings;
}

// The report, and a state to continue from, say the class and all settings in place of the name.
void record_choice(Proposal& proposal, const NamedScheduler& named, const Json& settings) {
  const ConfigValue* given = proposal.config.find(keys::scheduler.name);
  Origin origin = given ? given->origin : Origin::model;
  proposal.config.set(keys::scheduler.name, named.info->class_name, origin);
  if (!named.settings.empty()) proposal.config.set(keys::scheduler_config.name, settings, origin);
}

// The list of numbers that a key holds; empty where it is not set.
std::vector<double> levels_of(Proposal& proposal, const Key<Json>& key) {
  const Json list = proposal.config.maybe(key).value_or(Json::array());
  std::vector<double> levels;
  for (const Json& level : list) {
    if (level.is_number() && list.size() <= most_levels) {
      levels.push_back(level.get<double>());
      continue;
    }
    throw InvalidRequest({std::string("config.") + key.name, shown(list),
                          fmt::format("a list of up to {} numbers is expected", most_levels), ""});
  }
  return levels;
}

// Those that a distilled model's folder says, where the request says none (diffusers'
// sample_sigmas, a value of model_index.json).
void take_folder_levels(Proposal& proposal, const Scheduler& scheduler) {
  const Json said = proposal.folder.index.value("sample_sigmas", Json());
  if (!said.is_array() || said.empty() || !scheduler.takes_levels().sigmas) return;
  const bool given = proposal.config.maybe(keys::timesteps) || proposal.config.maybe(keys::sigmas);
  if (!given) proposal.config.set(keys::sigmas.name, said, Origin::model);
}

// Levels from outside, which say how many steps there are.
void take_levels(Proposal& proposal, const Scheduler& scheduler) {
  take_folder_levels(proposal, scheduler);
  SchedulerChoice& choice = proposal.scheduler;
  choice.timesteps = levels_of(proposal, keys::timesteps);
  choice.sigmas = levels_of(proposal, keys::sigmas);
  auto steps = scheduler.given_steps(choice.plan(0));
  if (!steps) return;
  const ConfigValue* given = proposal.config.find(keys::num_inference_steps.name);
  if (!given || given->origin == Origin::user) return;  // the plan refuses another number
  proposal.config.set(keys::num_inference_steps.name, *steps, Origin::derived);
}

// Plans a run, so that what cannot be run is refused before any weight is read.
void try_schedule(Proposal& proposal) {
  auto scheduler = proposal.scheduler.make();
  take_levels(proposal, *scheduler);
  auto steps = proposal.config.maybe(keys::num_inference_steps);
  if (steps) {
    StepPlan plan = proposal.scheduler.plan(*steps);
    if (proposal.family->shifts_by_size) plan.mu = 1.0;  // any: only the number of steps is asked
    scheduler->set_timesteps(plan);
  }
  auto eta = proposal.config.maybe(keys::eta);
  if (eta && *eta > 0 && !scheduler->uses_eta())
    proposal.unused(keys::eta,
                    fmt::format("{} does not use it", proposal.scheduler.info->class_name),
                    "remove it, or use DDIMScheduler or TCDScheduler");
}

}  // namespace

void settle_scheduler(Proposal& proposal) {
  const ComponentFolder* component = proposal.folder.find("scheduler");
  if (!component) return;  // the plan has said so
  auto named = chosen(proposal, *component);
  if (!named) return;
  const SchedulerInfo& info = *named->info;
  const std::string& own = component->class_name;
  if (info.class_name != own) {
    warn_of_scheduler(proposal, info,
                      proposal.config.maybe(keys::scheduler).value_or(info.class_name), own);
  }
  Json config = component->config;
  if (proposal.family->adopt_scheduler)
    proposal.family->adopt_scheduler({proposal.task, info, info.class_name == own}, config);
  Json settings = settings_of(proposal, *named);
  config.update(settings);
  record_choice(proposal, *named, settings);
  proposal.scheduler = {&info, config, "scheduler"};
  try {
    try_schedule(proposal);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

}  // namespace omnirt::validation
