#include "engine/planned_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/byte_size.hpp"
#include "base/clock.hpp"
#include "base/ensure.hpp"
#include "engine/reading_cost.hpp"
#include "io/system_memory.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/memory_keys.hpp"
#include "runtime/binding.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

// Of the memory that is free, what a run is planned with where no budget was given.
constexpr double share_of_free = 0.9;
// Of tiles that a plan settles on, in pixels: smaller ones show.
constexpr int64_t least_side = 128;

// What a component's weights take on a device, in the form of the first level that works.
uint64_t bytes_on_device(const LoadedComponent& component) {
  for (Level level : all_levels) {
    const auto& outcome = component.wrapped->at(level);
    if (outcome.ok) return held_bytes(*component.store, outcome.plan.form);
  }
  return 0;
}

// Of the components that compute in `space`.
uint64_t weight_bytes(const LoadedPipeline& pipeline, const Space& space) {
  uint64_t bytes = 0;
  for (const auto& [name, component] : pipeline.components()) {
    if (!component->network || space_of(*component) != space) continue;
    bytes += space ? bytes_on_device(*component) : component->store->bytes();
  }
  return bytes;
}

// Free memory of each space for the run's weights and tensors. On a device those that earlier runs
// left there are counted as free.
using FreeBytes = std::map<Space, double>;

FreeBytes bytes_to_plan_with(const LoadedPipeline& pipeline) {
  FreeBytes free;
  for (const auto& [name, component] : pipeline.components()) {
    if (!component->network) continue;
    const Space space = space_of(*component);
    if (free.contains(space)) continue;
    const double available = component->wrapped->backend().available_memory_gb() * 0x1p30;
    const uint64_t held = space ? held_forms(pipeline, space) : 0;
    free[space] = share_of_free * (available + static_cast<double>(held));
  }
  return free;
}

// Of an autoencoder's tiles, from the largest, where they may be chosen: none where the request
// settles that, or nothing is gone through in tiles.
std::vector<int64_t> sides_to_try(const Proposal& proposal) {
  const bool known = std::ranges::any_of(proposal.plan.keys, [](const KeyInfo* key) {
    return std::string_view(key->name) == keys::vae_tiling.name;
  });
  const nn::Autoencoder* autoencoder = known ? proposal.autoencoder() : nullptr;
  if (!autoencoder || proposal.config.maybe(keys::vae_tiling)) return {};
  std::vector<int64_t> sides;
  const int64_t grid = autoencoder->tile_grid();
  for (int64_t side = autoencoder->default_tile_size(); side >= std::max(grid, least_side);
       side = side / 2 / grid * grid)
    sides.push_back(side);
  return sides;
}

void warn_of_tiles(Proposal& proposal, int64_t side, uint64_t without) {
  proposal.warn(
      {std::string("config.") + keys::vae_tiling.name, "true",
       fmt::format("settled on to make the run fit: images are encoded and decoded in tiles "
                   "of {} pixels, which changes them a little",
                   side),
       fmt::format("give {} or more, and they are not", shown_byte_size(without))});
}

// 0: none.
void set_tiles(Proposal& proposal, int64_t side) {
  const bool tiled = side > 0;
  proposal.config.set(keys::vae_tiling.name, tiled ? Json(true) : Json(), Origin::derived);
  proposal.config.set(keys::vae_tile_size.name, tiled ? Json(side) : Json(), Origin::derived);
}

std::optional<uint64_t> budget_of(const Proposal& proposal, const Key<std::string>& key) {
  const auto given = proposal.config.maybe(key);
  return given ? parse_byte_size(*given) : std::nullopt;
}

PlanningWishes wishes_of(const Proposal& proposal, const Space& space, bool has_weights) {
  const auto& key = space ? keys::device_memory_budget : keys::memory_budget;
  if (!has_weights) return {.budget_bytes = budget_of(proposal, key), .offload = Offload::none};
  return {.budget_bytes = budget_of(proposal, key),
          .offload = proposal.config.get(keys::offload),
          .blocks_per_group = proposal.config.maybe(keys::blocks_per_group),
          .prefetch = proposal.config.maybe(keys::prefetch_groups)};
}

// Of the spaces that do not fit.
uint64_t unfit_peak(const PlannedMemory& made) {
  uint64_t peak = 0;
  for (const PlannedSpaceUse& each : made.spaces) {
    if (!each.plan.fits) peak = std::max(peak, each.plan.peak_bytes);
  }
  return peak;
}

// The plan with the largest tiles that fit, or the one that takes least.
PlannedMemory with_tiles(Proposal& proposal, PlannedMemory made,
                         const std::function<PlannedMemory()>& plan) {
  const std::vector<int64_t> sides = sides_to_try(proposal);
  const uint64_t without = unfit_peak(made);
  int64_t chosen = 0;
  for (int64_t side : sides) {
    set_tiles(proposal, side);
    PlannedMemory tiled = plan();
    if (tiled.peak_bytes() >= made.peak_bytes()) continue;
    made = std::move(tiled);
    chosen = side;
    if (made.fits()) break;
  }
  if (!sides.empty()) set_tiles(proposal, chosen);
  if (chosen > 0 && made.fits()) warn_of_tiles(proposal, chosen, without);
  return made;
}

// Of the component's files the largest, for the others are read no faster; "" where there is none.
std::filesystem::path largest_file(const ComponentFolder& folder) {
  std::error_code error;
  const std::filesystem::path given = folder.original ? folder.original->file : folder.folder;
  if (std::filesystem::is_regular_file(given, error)) return given;
  std::filesystem::path largest;
  uint64_t most = 0;
  for (const auto& each : std::filesystem::directory_iterator(given, error)) {
    const uint64_t bytes = each.is_regular_file(error) ? each.file_size(error) : 0;
    if (error || bytes < most) continue;
    most = bytes;
    largest = each.path();
  }
  return largest;
}

// Of the component that moves most at each step; "" where nothing moves.
std::string reading_most(const PlannedSpaceUse& made) {
  std::string name;
  uint64_t most = 0;
  for (const PlannedComponent& component : made.facts.components) {
    const uint64_t moved = made.plan.components.at(component.name).moved_bytes() * component.calls;
    if (moved <= most) continue;
    most = moved;
    name = component.name;
  }
  return name;
}

int64_t steps_of(const Proposal& proposal) {
  return proposal.config.maybe(keys::num_inference_steps).value_or(1);
}

// What reading the groups costs, where any are read in the loop.
std::optional<ReadingReport> reading_of(const Proposal& proposal, const PlannedSpaceUse& made,
                                        LoadedPipeline& pipeline) {
  const std::string name = reading_most(made);
  const ComponentFolder* folder = name.empty() ? nullptr : proposal.folder.find(name);
  if (!folder) return std::nullopt;
  const auto& outcome = pipeline.find(name)->wrapped->at(Level::compile);
  auto source = io::open_read_source(largest_file(*folder));
  if (!outcome.ok || !source) return std::nullopt;
  const io::ReadRates rates = io::measure_read_rates(*source, {}, now_ms);
  ReadingReport cost =
      reading_cost(made.facts, made.plan, static_cast<uint64_t>(steps_of(proposal)), rates,
                   measured_products(*outcome.plan.ops, outcome.plan.form, now_ms));
  return_freed_memory(0);
  if (cost.bytes_per_step == 0) return std::nullopt;
  return cost;
}

MemoryPlanReport report_of(const Proposal& proposal, const PlannedSpaceUse& made,
                           LoadedPipeline& pipeline) {
  MemoryPlanReport report{space_report(made.plan, made.facts, made.wishes.budget_bytes)};
  report.offload = made.wishes.offload;
  report.kept_between_steps_bytes = made.facts.kept_between_steps_bytes;
  report.components = component_reports(made.plan, made.facts);
  if (made.space) report.device = made.space->text();
  const auto steps = static_cast<uint64_t>(steps_of(proposal));
  report.moved_bytes_per_step = reading_cost(made.facts, made.plan, steps, {}, 0).bytes_per_step;
  if (!made.space) report.reading = reading_of(proposal, made, pipeline);
  return report;
}

// The run's own space, with those of the other devices, and of the process, in it. The process's is
// of tensors alone where no weight is computed with in it.
MemoryPlanReport report_of(const Proposal& proposal, const PlannedMemory& made,
                           LoadedPipeline& pipeline) {
  std::optional<MemoryPlanReport> main;
  std::optional<PlannedSpaceReport> process;
  std::vector<MemoryPlanReport> others;
  const Space own = Space(proposal.device);
  for (const PlannedSpaceUse& each : made.spaces) {
    if (!each.space && each.facts.components.empty() && made.spaces.size() > 1) {
      process = space_report(each.plan, each.facts, each.wishes.budget_bytes);
      continue;
    }
    MemoryPlanReport one = report_of(proposal, each, pipeline);
    if (!main) {
      main = std::move(one);
      continue;
    }
    if (each.space == own) std::swap(*main, one);
    others.push_back(std::move(one));
  }
  ensure(main.has_value(), "a memory plan of no space");
  main->process = std::move(process);
  main->others = std::move(others);
  return *std::move(main);
}

// What a request may ask of memory is kept everywhere or nowhere.
bool all_planned(const Proposal& proposal) {
  return std::ranges::none_of(proposal.devices(), [&](const DeviceId& device) {
    return proposal.capabilities_of(device).plans_memory == PlannedSpace::none;
  });
}

PlannedSpaceUse planned(const Proposal& proposal, Space space, PlanningFacts facts,
                        const FreeBytes& free) {
  PlannedSpaceUse made{.space = std::move(space), .facts = std::move(facts)};
  const bool has_weights = !made.facts.components.empty();
  made.wishes = wishes_of(proposal, made.space, has_weights);
  PlanningWishes within = made.wishes;
  const auto there = free.find(made.space);
  const bool limited = proposal.limits_memory();
  // A device has no memory to give that others hold, whatever the budget says.
  if (has_weights && there != free.end() && (!limited || made.space)) {
    const uint64_t bytes = static_cast<uint64_t>(there->second) + made.facts.base_bytes;
    within.budget_bytes = std::min(made.wishes.budget_bytes.value_or(bytes), bytes);
  }
  if (!limited) made.wishes = within;
  made.plan = plan_memory(made.facts, within);
  return made;
}

}  // namespace

bool PlannedMemory::fits() const {
  return std::ranges::all_of(spaces, [](const PlannedSpaceUse& each) { return each.plan.fits; });
}

uint64_t PlannedMemory::peak_bytes() const {
  uint64_t bytes = 0;
  for (const PlannedSpaceUse& each : spaces) {
    if (!each.facts.components.empty()) bytes += each.plan.peak_bytes;
  }
  return bytes;
}

std::map<std::string, Residency> PlannedMemory::residency() const {
  std::map<std::string, Residency> all;
  for (const PlannedSpaceUse& each : spaces)
    all.insert(each.plan.components.begin(), each.plan.components.end());
  return all;
}

std::optional<PlannedMemory> plan_memory(Proposal& proposal, LoadedPipeline& pipeline,
                                         const CancelToken* cancel) {
  if (!all_planned(proposal)) return std::nullopt;
  const FreeBytes free = bytes_to_plan_with(pipeline);
  const bool all_stays = std::ranges::all_of(free, [&](const auto& each) {
    return static_cast<double>(weight_bytes(pipeline, each.first)) < each.second;
  });
  if (!proposal.limits_memory() && all_stays) return std::nullopt;
  auto plan = [&] {
    PlannedMemory made;
    made.given = proposal.config.maybe(keys::memory_budget) ||
                 proposal.config.maybe(keys::device_memory_budget);
    for (auto& [space, facts] : rehearse(proposal, pipeline, cancel))
      made.spaces.push_back(planned(proposal, space, std::move(facts), free));
    return made;
  };
  const ConfigValue* tiled = proposal.config.find(keys::vae_tiling.name);
  if (tiled && tiled->origin == Origin::derived) set_tiles(proposal, 0);  // of an earlier plan
  PlannedMemory made = plan();
  if (!made.fits()) made = with_tiles(proposal, std::move(made), plan);
  made.report = report_of(proposal, made, pipeline);
  return made;
}

}  // namespace omnirt
