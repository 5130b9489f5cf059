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
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

// Of the memory that is free, what a run is planned with where no budget was given.
constexpr double share_of_free = 0.9;
// Of tiles that a plan settles on, in pixels: smaller ones show.
constexpr int64_t least_side = 128;

std::string field_of(const KeyInfo& key) {
  return std::string("config.") + key.name;
}

uint64_t weight_bytes(const LoadedPipeline& pipeline) {
  uint64_t bytes = 0;
  for (const auto& [name, component] : pipeline.components())
    bytes += component->store ? component->store->bytes() : 0;
  return bytes;
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
      {field_of(keys::vae_tiling), "true",
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

PlanningWishes wishes_of(const Proposal& proposal) {
  PlanningWishes wishes{.offload = proposal.config.get(keys::offload),
                        .blocks_per_group = proposal.config.maybe(keys::blocks_per_group)};
  if (auto given = proposal.config.maybe(keys::memory_budget))
    wishes.budget_bytes = parse_byte_size(*given);
  return wishes;
}

std::string place(const PlannedMoment& at) {
  return at.component.empty()
             ? fmt::format("in block {}", at.block_name)
             : fmt::format("in block {}, component {}", at.block_name, at.component);
}

void refuse(Proposal& proposal, const RunMemoryPlan& plan, const PlanningWishes& wishes) {
  const bool free = wishes.offload == Offload::automatic;
  proposal.error({field_of(keys::memory_budget), shown_byte_size(*wishes.budget_bytes),
                  fmt::format("the run needs {}{}, {}", shown_byte_size(plan.peak_bytes),
                              free ? " at the least"
                                   : fmt::format(" with offload {}", name_of(wishes.offload)),
                              place(plan.at)),
                  fmt::format("give {} or more{}; or make fewer or smaller images",
                              shown_byte_size(plan.peak_bytes), free ? "" : ", or offload auto")});
}

// The references take memory of their own inside the libraries that compute them.
void refuse_unforeseen(Proposal& proposal, const PlanningFacts& facts) {
  for (const PlannedComponent& component : facts.components) {
    if (component.foreseen) continue;
    proposal.error({field_of(keys::memory_budget), proposal.config.get(keys::memory_budget),
                    fmt::format("component {} runs at level eager, whose memory is not known "
                                "beforehand",
                                component.name),
                    "omit what asks for that level (level, dtype), or the budget"});
    return;
  }
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
    if (made.plan.fits) break;
  }
  if (!sides.empty()) set_tiles(proposal, chosen);
  if (chosen > 0 && made.plan.fits) warn_of_tiles(proposal, chosen, without);
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

// What reading the groups costs, where any are read in the loop; else null.
Json reading_of(const Proposal& proposal, const PlannedMemory& made, LoadedPipeline& pipeline) {
  const std::string name = reading_most(made);
  const ComponentFolder* folder = name.empty() ? nullptr : proposal.folder.find(name);
  if (!folder) return nullptr;
  const auto& outcome = pipeline.find(name)->wrapped->at(Level::compile);
  auto source = io::open_read_source(largest_file(*folder));
  if (!outcome.ok || !source) return nullptr;
  const io::ReadRates rates = io::measure_read_rates(*source, {}, now_ms);
  const auto steps = proposal.config.maybe(keys::num_inference_steps).value_or(1);
  const ReadingCost cost =
      reading_cost(made.facts, made.plan, static_cast<uint64_t>(steps), rates,
                   measured_products(*outcome.plan.ops, outcome.plan.form, now_ms));
  return_freed_memory(0);
  return cost.bytes_per_step > 0 ? cost.to_json(rates) : Json();
}

}  // namespace

std::optional<PlannedMemory> plan_memory(Proposal& proposal, LoadedPipeline& pipeline,
                                         Backend& backend, const CancelToken* cancel) {
  if (!backend.capabilities().plans_memory) return std::nullopt;
  PlanningWishes wishes = wishes_of(proposal);
  const bool given = wishes.budget_bytes.has_value();
  const bool asked = given || wishes.offload != Offload::automatic;
  const double available = backend.available_memory_gb() * 0x1p30;
  if (!asked && static_cast<double>(weight_bytes(pipeline)) < share_of_free * available)
    return std::nullopt;
  auto plan = [&] {
    PlannedMemory made{.facts = rehearse(proposal, pipeline, backend, cancel), .given = given};
    if (!asked)
      wishes.budget_bytes =
          static_cast<uint64_t>(share_of_free * available) + made.facts.base_bytes;
    made.wishes = wishes;
    made.plan = plan_memory(made.facts, wishes);
    return made;
  };
  const ConfigValue* tiled = proposal.config.find(keys::vae_tiling.name);
  if (tiled && tiled->origin == Origin::derived) set_tiles(proposal, 0);  // of an earlier plan
  PlannedMemory made = plan();
  if (!made.plan.fits) made = with_tiles(proposal, std::move(made), plan);
  made.report = made.plan.to_json(made.facts, wishes);
  made.report["reading"] = reading_of(proposal, made, pipeline);
  return made;
}

// What was not asked for is not refused: the machine may free memory yet.
void refuse_unfit(Proposal& proposal, const PlannedMemory& planned) {
  if (!planned.given) return;
  refuse_unforeseen(proposal, planned.facts);
  if (!planned.plan.fits) refuse(proposal, planned.plan, planned.wishes);
}

}  // namespace omnirt
