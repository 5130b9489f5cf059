// What the steps of a denoise loop share, as the request's cache keys say it.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "blocks/denoise_parts.hpp"
#include "blocks/skipped_steps.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::blocks {
namespace {

// Where the request gives none (diffusers' defaults).
constexpr double first_block_threshold = 0.05, mag_threshold = 0.06;
constexpr int64_t deep_interval = 3, taylorseer_interval = 5;
constexpr size_t most_ratios = 1000;

std::vector<double> numbers(const Json& list) {
  std::vector<double> made;
  for (const Json& each : list) made.push_back(each.get<double>());
  return made;
}

bool are_ratios(const Json& list) {
  if (list.empty() || list.size() > most_ratios) return false;
  for (const Json& each : list) {
    if (!each.is_number() || !(each.get<double>() > 0) || !(each.get<double>() < 1e6)) return false;
  }
  return true;
}

at::ScalarType type_of(FactorsType type) {
  return type == FactorsType::bf16   ? at::kBFloat16
         : type == FactorsType::fp16 ? at::kHalf
                                     : at::kFloat;
}

}  // namespace

// What the current step shares with those before it.
SharedStep Predict::step(Frame& frame, const Walk& walk) const {
  SharedStep plan{.index = walk.index - walk.schedule.begin};
  const CacheKind kind = frame[cache];
  if (kind == CacheKind::deep) {
    plan.interval = static_cast<size_t>(frame.maybe(cache_interval).value_or(deep_interval));
    plan.branch = static_cast<size_t>(frame[cache_branch]);
    plan.order = static_cast<size_t>(frame[cache_order]);
  } else if (kind == CacheKind::first_block) {
    plan.kind = SharedStep::Kind::first_block;
    plan.threshold = frame.maybe(cache_threshold).value_or(first_block_threshold);
  } else if (kind == CacheKind::mag) {
    plan.kind = SharedStep::Kind::magnitude;
    plan.threshold = frame.maybe(cache_threshold).value_or(mag_threshold);
    plan.skips = skipped_steps(numbers(frame[cache_ratios]), walk.end - walk.schedule.begin,
                               {.threshold = plan.threshold,
                                .max_skips = static_cast<size_t>(frame[cache_max_skips]),
                                .retention = frame[cache_retention]})[plan.index];
  } else if (kind == CacheKind::taylorseer) {
    plan_prediction(frame, plan);
  }
  return plan;
}

// Which steps predict, as diffusers' hooks/taylorseer_cache.py has it: the second step after the
// first ones is computed, and then every interval-th.
void Predict::plan_prediction(Frame& frame, SharedStep& plan) const {
  const auto step = static_cast<int64_t>(plan.index);
  const int64_t interval = frame.maybe(cache_interval).value_or(taylorseer_interval);
  const int64_t first = frame[disable_cache_before_step];
  const auto last = frame.maybe(disable_cache_after_step);
  const bool computed = step < first || (step - first + interval - 1) % interval == 0;
  plan.kind = frame[use_lite_mode] ? SharedStep::Kind::output : SharedStep::Kind::attention;
  plan.interval = static_cast<size_t>(interval);
  plan.order = static_cast<size_t>(frame[max_order]);
  plan.skips = !computed && (!last || step < *last);
  plan.factors_type = type_of(frame[taylor_factors_dtype]);
}

void Predict::check(Checks& checks) const {
  using enum CacheKind;
  const CacheKind kind = checks[cache];
  auto only_with = [&](std::initializer_list<CacheKind> kinds, const auto&... ports) {
    if (std::ranges::find(kinds, kind) != kinds.end()) return;
    std::string names;
    for (CacheKind each : kinds)
      names += (names.empty() ? "" : " or ") + std::string(name_of(each));
    const std::string why = "has no effect without cache " + names;
    const std::string fix =
        fmt::format("set config.cache={}, or remove it", name_of(*kinds.begin()));
    (checks.unused(ports, why, fix), ...);
  };
  only_with({deep, taylorseer}, cache_interval);
  only_with({deep}, cache_branch, cache_order);
  only_with({first_block, mag}, cache_threshold);
  only_with({mag}, cache_ratios, cache_max_skips, cache_retention);
  only_with({taylorseer}, disable_cache_before_step, disable_cache_after_step, max_order,
            taylor_factors_dtype, use_lite_mode);
  if (kind == mag) check_ratios(checks);
}

void Predict::check_ratios(Checks& checks) const {
  const auto ratios = checks.maybe(cache_ratios);
  if (!ratios) {
    checks.error({"config.cache_ratios", "", "cache mag needs the ratios of the model",
                  "give those that were measured for it, or cache first_block, which needs none"});
  } else if (!are_ratios(*ratios)) {
    checks.error({"config.cache_ratios", ratios->dump(), "not 1 to 1000 numbers above 0",
                  "give the ratios that were measured for the model"});
  }
}

void Predict::check_cache(Checks& checks) const {
  const CacheKind kind = checks[cache];
  if (kind == CacheKind::none) return;
  const nn::DenoiserNetwork& network = checks[unet];
  const auto branches = static_cast<int64_t>(network.cache_branches());
  const bool deep = kind == CacheKind::deep, blocks = network.caches_blocks();
  if (deep ? branches == 0 : !blocks) {
    const char* fix = blocks         ? "give first_block, mag or taylorseer"
                      : branches > 0 ? "give deep"
                                     : "remove it";
    const char* what = deep                            ? "share features"
                       : kind == CacheKind::taylorseer ? "predict what attentions make"
                                                       : "share what its blocks add";
    checks.error({"config.cache", name_of(kind),
                  fmt::format("{} has no place where steps could {}", network.class_name(), what),
                  fix});
  } else if (kind == CacheKind::taylorseer && !checks[use_lite_mode] &&
             !network.predicts_attentions()) {
    checks.error({"config.use_lite_mode", "false",
                  fmt::format("steps cannot predict single attentions of {}, only its output",
                              network.class_name()),
                  "set config.use_lite_mode=true, or config.cache=first_block"});
  } else if (deep && checks[cache_branch] >= branches) {
    checks.error({"config.cache_branch", std::to_string(checks[cache_branch]),
                  fmt::format("this model's UNet has {} skip connections", branches),
                  fmt::format("give 0 to {}", branches - 1)});
  }
}

}  // namespace omnirt::blocks
