#include "engine/planned_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/byte_size.hpp"
#include "base/clock.hpp"
#include "engine/reading_cost.hpp"
#include "engine/rehearsal.hpp"
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

uint64_t weight_bytes(const LoadedPipeline& pipeline, bool on_device) {
  uint64_t bytes = 0;
  for (const auto& [name, component] : pipeline.components()) {
    if (on_device && component->network)
      bytes += bytes_on_device(*component);
    else if (component->store)
      bytes += component->store->bytes();
  }
  return bytes;
}

// For the run's weights and tensors; on a device those that earlier runs left there are among them.
double bytes_to_plan_with(const LoadedPipeline& pipeline, Backend& backend, bool on_device) {
  const double free = backend.available_memory_gb() * 0x1p30;
  return share_of_free * (free + (on_device ? static_cast<double>(held_forms(pipeline)) : 0));
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

PlanningWishes wishes_of(const Proposal& proposal, bool on_device) {
  return {.budget_bytes =
              budget_of(proposal, on_device ? keys::device_memory_budget : keys::memory_budget),
          .offload = proposal.config.get(keys::offload),
          .blocks_per_group = proposal.config.maybe(keys::blocks_per_group),
          .prefetch = proposal.config.maybe(keys::prefetch_groups)};
}

// The plan with the largest tiles that fit, or the one that takes least.
PlannedMemory with_tiles(Proposal& proposal, PlannedMemory made,
                         const std::function<PlannedMemory()>& plan) {
  const std::vector<int64_t> sides = sides_to_try(proposal);
  const uint64_t without = made.plan.peak_bytes;
  int64_t chosen = 0;
  for (int64_t side : sides) {
    set_tiles(proposal, side);
    PlannedMemory tiled = plan();
    if (tiled.plan.peak_bytes >= made.plan.peak_bytes) continue;
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
std::string reading_most(const PlannedMemory& made) {
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

// What reading the groups costs, where any are read in the loop.
std::optional<ReadingReport> reading_of(const Proposal& proposal, const PlannedMemory& made,
                                        LoadedPipeline& pipeline) {
  const std::string name = reading_most(made);
  const ComponentFolder* folder = name.empty() ? nullptr : proposal.folder.find(name);
  if (!folder) return std::nullopt;
  const auto& outcome = pipeline.find(name)->wrapped->at(Level::compile);
  auto source = io::open_read_source(largest_file(*folder));
  if (!outcome.ok || !source) return std::nullopt;
  const io::ReadRates rates = io::measure_read_rates(*source, {}, now_ms);
  const auto steps = proposal.config.maybe(keys::num_inference_steps).value_or(1);
  ReadingReport cost =
      reading_cost(made.facts, made.plan, static_cast<uint64_t>(steps), rates,
                   measured_products(*outcome.plan.ops, outcome.plan.form, now_ms));
  return_freed_memory(0);
  if (cost.bytes_per_step == 0) return std::nullopt;
  return cost;
}

// Of the device's memory and, with nothing that could leave it, the process's.
PlannedMemory::OfProcess plan_process(const Proposal& proposal, PlanningFacts facts) {
  PlannedMemory::OfProcess made{.facts = std::move(facts),
                                .budget_bytes = budget_of(proposal, keys::memory_budget)};
  made.plan =
      plan_memory(made.facts, {.budget_bytes = made.budget_bytes, .offload = Offload::none});
  return made;
}

MemoryPlanReport report_of(const Proposal& proposal, const PlannedMemory& made,
                           LoadedPipeline& pipeline) {
  const auto steps =
      static_cast<uint64_t>(proposal.config.maybe(keys::num_inference_steps).value_or(1));
  MemoryPlanReport report{space_report(made.plan, made.facts, made.wishes.budget_bytes)};
  report.offload = made.wishes.offload;
  report.kept_between_steps_bytes = made.facts.kept_between_steps_bytes;
  report.components = component_reports(made.plan, made.facts);
  report.on_device = made.on_device;
  report.moved_bytes_per_step = reading_cost(made.facts, made.plan, steps, {}, 0).bytes_per_step;
  if (!made.on_device) report.reading = reading_of(proposal, made, pipeline);
  if (made.process)
    report.process =
        space_report(made.process->plan, made.process->facts, made.process->budget_bytes);
  return report;
}

}  // namespace

std::optional<PlannedMemory> plan_memory(Proposal& proposal, LoadedPipeline& pipeline,
                                         Backend& backend, const CancelToken* cancel) {
  const PlannedSpace space = backend.capabilities().plans_memory;
  if (space == PlannedSpace::none) return std::nullopt;
  const bool on_device = space == PlannedSpace::device;
  const PlanningWishes asked = wishes_of(proposal, on_device);
  const bool given = asked.budget_bytes || proposal.config.maybe(keys::memory_budget);
  const bool limited = proposal.limits_memory();
  const double free = bytes_to_plan_with(pipeline, backend, on_device);
  if (!limited && static_cast<double>(weight_bytes(pipeline, on_device)) < free)
    return std::nullopt;
  auto plan = [&] {
    Rehearsed rehearsed = rehearse(proposal, pipeline, backend, cancel);
    PlannedMemory made{.facts = std::move(rehearsed.weights),
                       .wishes = asked,
                       .given = given,
                       .on_device = on_device};
    PlanningWishes within = asked;
    // A device has no memory to give that others hold, whatever the budget says.
    const uint64_t there = static_cast<uint64_t>(free) + made.facts.base_bytes;
    if (!limited || on_device)
      within.budget_bytes = std::min(asked.budget_bytes.value_or(there), there);
    if (!limited) made.wishes = within;
    made.plan = plan_memory(made.facts, within);
    if (rehearsed.host) made.process = plan_process(proposal, std::move(*rehearsed.host));
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
