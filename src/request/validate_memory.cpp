// What a request says of memory, as far as its words go; whether a run fits is known once its
// networks' shapes are (engine/planned_memory.hpp).
#include <algorithm>

#include "base/byte_size.hpp"
#include "pipeline/memory_keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

// Whose memory is planned, by device.
using Spaces = std::vector<std::pair<DeviceId, PlannedSpace>>;

// Empty where no backend was chosen, which is a separate finding.
Spaces planned_by(const Proposal& proposal) {
  Spaces spaces;
  if (proposal.device.backend.empty()) return spaces;
  for (const DeviceId& device : proposal.devices())
    spaces.emplace_back(device, proposal.capabilities_of(device).plans_memory);
  return spaces;
}

// The first device whose memory is not planned.
std::optional<DeviceId> unplanned(const Spaces& spaces) {
  auto found = std::ranges::find(spaces, PlannedSpace::none, &Spaces::value_type::second);
  return found == spaces.end() ? std::nullopt : std::optional(found->first);
}

std::string field_of(const KeyInfo& key) {
  return std::string("config.") + key.name;
}

void check_size(Proposal& proposal, const Key<std::string>& key) {
  const auto given = proposal.config.maybe(key);
  if (given && !parse_byte_size(*given))
    proposal.error(
        {field_of(key), *given, "not a size of memory", "give a number with a unit: 6GB, 800MB"});
}

void check_groups(Proposal& proposal, Offload offload) {
  if (offload != Offload::group)
    proposal.unused(keys::blocks_per_group, "has no effect without offload group",
                    "set config.offload=group, or remove it");
  if (offload != Offload::group && offload != Offload::leaf)
    proposal.unused(keys::prefetch_groups, "has no effect without offload group or leaf",
                    "set config.offload=leaf, or remove it");
}

void check_device_budget(Proposal& proposal, const Spaces& spaces) {
  const auto given = proposal.config.maybe(keys::device_memory_budget);
  if (!given) return;
  const std::string field = field_of(keys::device_memory_budget);
  if (const auto device = unplanned(spaces)) {
    proposal.error({field, *given, "backend " + device->backend + " does not plan its memory",
                    "omit it, or use a backend that plans its device's memory"});
  } else if (std::ranges::find(spaces, PlannedSpace::device, &Spaces::value_type::second) ==
             spaces.end()) {
    proposal.error({field, *given,
                    "backend " + proposal.device.backend + " has no memory of a device",
                    "omit it; memory_budget is about the process's memory"});
  }
}

void refuse_packing(Proposal& proposal) {
  if (proposal.config.maybe(keys::pack).value_or(PackPolicy::automatic) != PackPolicy::always)
    return;
  proposal.error({field_of(keys::pack), "always",
                  "a run within a memory budget, or with offload, keeps no packed weights: a plan "
                  "counts each weight once",
                  "omit it"});
}

}  // namespace

void check_memory(Proposal& proposal) {
  const Spaces spaces = planned_by(proposal);
  settle_storage(proposal);
  check_size(proposal, keys::memory_budget);
  check_size(proposal, keys::device_memory_budget);
  const Offload offload = proposal.config.maybe(keys::offload).value_or(Offload::automatic);
  check_groups(proposal, offload);
  if (spaces.empty()) return;
  check_device_budget(proposal, spaces);
  const auto given = proposal.config.maybe(keys::memory_budget);
  const bool asked = given || offload != Offload::automatic;
  if (proposal.limits_memory()) refuse_packing(proposal);
  const auto device = unplanned(spaces);
  if (!asked || !device) return;
  proposal.error({given ? field_of(keys::memory_budget) : field_of(keys::offload),
                  given ? *given : name_of(offload),
                  "backend " + device->backend + " does not plan memory",
                  "omit it, or use backend cpu"});
}

}  // namespace omnirt::validation
