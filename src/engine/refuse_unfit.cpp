#include <fmt/format.h>

#include "base/byte_size.hpp"
#include "engine/planned_memory.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/memory_keys.hpp"

namespace omnirt {
namespace {

std::string field_of(const KeyInfo& key) {
  return std::string("config.") + key.name;
}

const KeyInfo& budget_key(const PlannedSpaceUse& planned) {
  return planned.space ? keys::device_memory_budget : keys::memory_budget;
}

std::string place(const PlannedMoment& at) {
  return at.component.empty()
             ? fmt::format("in block {}", at.block_name)
             : fmt::format("in block {}, component {}", at.block_name, at.component);
}

// What the process takes next to devices: no weight can leave it.
void refuse_process(Proposal& proposal, const PlannedSpaceUse& process) {
  const uint64_t needed = process.plan.peak_bytes;
  proposal.error(
      {field_of(keys::memory_budget), shown_byte_size(*process.wishes.budget_bytes),
       fmt::format("the process needs {} next to its device, {}", shown_byte_size(needed),
                   place(process.plan.at)),
       fmt::format("give {} or more; or make fewer or smaller images", shown_byte_size(needed))});
}

void refuse(Proposal& proposal, const PlannedSpaceUse& planned) {
  const uint64_t needed = planned.plan.peak_bytes;
  const bool free = planned.wishes.offload == Offload::automatic;
  const std::string of =
      !planned.space
          ? ""
          : " of " + (*planned.space == proposal.device ? "the device" : planned.space->text());
  proposal.error(
      {field_of(budget_key(planned)), shown_byte_size(*planned.wishes.budget_bytes),
       fmt::format("the run needs {}{}{}, {}", shown_byte_size(needed), of,
                   free ? " at the least"
                        : fmt::format(" with offload {}", name_of(planned.wishes.offload)),
                   place(planned.plan.at)),
       fmt::format("give {} or more{}; or make fewer or smaller images", shown_byte_size(needed),
                   free ? "" : ", or offload auto")});
}

// The references take memory of their own inside the libraries that compute them.
void refuse_unforeseen(Proposal& proposal, const PlannedSpaceUse& planned) {
  const KeyInfo& key = budget_key(planned);
  const ConfigValue* given = proposal.config.find(key.name);
  for (const PlannedComponent& component : planned.facts.components) {
    if (component.foreseen || !given || given->value.is_null()) continue;
    proposal.error({field_of(key), given->value.get<std::string>(),
                    fmt::format("component {} runs at level eager, whose memory is not known "
                                "beforehand",
                                component.name),
                    "omit what asks for that level (level, dtype), or the budget"});
    return;
  }
}

}  // namespace

// What was not asked for is not refused: memory may become free yet.
void refuse_unfit(Proposal& proposal, const PlannedMemory& planned) {
  if (!planned.given) return;
  for (const PlannedSpaceUse& each : planned.spaces) {
    refuse_unforeseen(proposal, each);
    const auto& budget = each.wishes.budget_bytes;
    if (!budget || each.plan.peak_bytes <= *budget) continue;
    const bool next_to_devices = !each.space && each.facts.components.empty();
    next_to_devices ? refuse_process(proposal, each) : refuse(proposal, each);
  }
}

}  // namespace omnirt
