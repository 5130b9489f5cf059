// What the steps of a denoise loop share, as the request's cache keys say it.
#include <fmt/format.h>

#include <cmath>

#include "blocks/denoise.hpp"
#include "blocks/skipped_steps.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::blocks {
namespace {

// Where the request gives none (diffusers' defaults).
constexpr double first_block_threshold = 0.05, mag_threshold = 0.06;
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

}  // namespace

// What the current step shares with those before it.
SharedStep DenoiseLoop::step(Frame& frame, const Walk& walk) const {
  SharedStep plan{.index = walk.index - walk.schedule.begin};
  const CacheKind kind = frame[cache];
  if (kind == CacheKind::deep) {
    plan.interval = static_cast<size_t>(frame[cache_interval]);
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
  }
  return plan;
}

void DenoiseLoop::check(Checks& checks) const {
  const CacheKind kind = checks[cache];
  if (kind != CacheKind::deep) {
    for (const auto* port : {&cache_interval, &cache_branch, &cache_order})
      checks.unused(*port, "has no effect without cache deep", "set cache to deep, or remove it");
  }
  if (kind != CacheKind::first_block && kind != CacheKind::mag)
    checks.unused(cache_threshold, "has no effect without cache first_block or mag",
                  "set cache to one of them, or remove it");
  if (kind != CacheKind::mag) {
    const char* why = "has no effect without cache mag";
    const char* fix = "set cache to mag, or remove it";
    checks.unused(cache_ratios, why, fix);
    checks.unused(cache_max_skips, why, fix);
    checks.unused(cache_retention, why, fix);
    return;
  }
  const auto ratios = checks.maybe(cache_ratios);
  if (!ratios) {
    checks.error({"config.cache_ratios", "", "cache mag needs the ratios of the model",
                  "give those that were measured for it, or cache first_block, which needs none"});
  } else if (!are_ratios(*ratios)) {
    checks.error({"config.cache_ratios", ratios->dump(), "not 1 to 1000 numbers above 0",
                  "give the ratios that were measured for the model"});
  }
}

void DenoiseLoop::check_cache(Checks& checks) const {
  const CacheKind kind = checks[cache];
  if (kind == CacheKind::none) return;
  const nn::DenoiserNetwork& network = checks[unet];
  const auto branches = static_cast<int64_t>(network.cache_branches());
  const bool deep = kind == CacheKind::deep, blocks = network.caches_blocks();
  if (deep ? branches == 0 : !blocks) {
    const char* fix = blocks ? "give first_block or mag" : branches > 0 ? "give deep" : "remove it";
    checks.error({"config.cache", name_of(kind),
                  fmt::format("{} has no place where steps could share {}", network.class_name(),
                              deep ? "features" : "what its blocks add"),
                  fix});
  } else if (deep && checks[cache_branch] >= branches) {
    checks.error({"config.cache_branch", std::to_string(checks[cache_branch]),
                  fmt::format("this model's UNet has {} skip connections", branches),
                  fmt::format("give 0 to {}", branches - 1)});
  }
}

}  // namespace omnirt::blocks
