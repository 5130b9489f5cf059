#include "engine/planned_memory.hpp"

#include <fmt/format.h>

#include "base/byte_size.hpp"
#include "engine/rehearsal.hpp"
#include "io/system_memory.hpp"
#include "pipeline/memory_keys.hpp"

namespace omnirt {
namespace {

// Of the memory that is free, what a run is planned with where nobody gave a budget.
constexpr double share_of_free = 0.9;

std::string field_of(const KeyInfo& key) {
  return std::string("config.") + key.name;
}

uint64_t weight_bytes(const LoadedPipeline& pipeline) {
  uint64_t bytes = 0;
  for (const auto& [name, component] : pipeline.components())
    bytes += component->store ? component->store->bytes() : 0;
  return bytes;
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

}  // namespace

std::optional<PlannedMemory> plan_memory(const Proposal& proposal, LoadedPipeline& pipeline,
                                         Backend& backend, const CancelToken* cancel) {
  if (!backend.capabilities().plans_memory) return std::nullopt;
  PlanningWishes wishes = wishes_of(proposal);
  const bool asked = wishes.budget_bytes || wishes.offload != Offload::automatic;
  const double available = backend.available_memory_gb() * 0x1p30;
  if (!asked && static_cast<double>(weight_bytes(pipeline)) < share_of_free * available)
    return std::nullopt;
  PlanningFacts facts = rehearse(proposal, pipeline, backend, cancel);
  PlannedMemory made{.facts = std::move(facts), .given = wishes.budget_bytes.has_value()};
  if (!asked)
    wishes.budget_bytes = static_cast<uint64_t>(share_of_free * available) + made.facts.base_bytes;
  made.wishes = wishes;
  made.plan = plan_memory(made.facts, wishes);
  made.report = made.plan.to_json(made.facts, wishes);
  return made;
}

// What nobody asked for is not refused: the machine may free memory yet.
void refuse_unfit(Proposal& proposal, const PlannedMemory& planned) {
  if (!planned.given) return;
  refuse_unforeseen(proposal, planned.facts);
  if (!planned.plan.fits) refuse(proposal, planned.plan, planned.wishes);
}

}  // namespace omnirt
