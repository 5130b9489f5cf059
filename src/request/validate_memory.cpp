// What a request says of memory, as far as its words go; whether a run fits is known once its
// networks' shapes are (engine/planned_memory.hpp).
#include "base/byte_size.hpp"
#include "pipeline/memory_keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

// Nothing where no backend was settled on, which is a finding of its own.
std::optional<PlannedSpace> planned_by(const Proposal& proposal) {
  for (const BackendInfo& info : proposal.catalogue->backends) {
    if (info.name == proposal.backend && info.make) return info.make()->capabilities().plans_memory;
  }
  return std::nullopt;
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

void refuse_device_budget(Proposal& proposal, PlannedSpace space) {
  const bool plans = space == PlannedSpace::process;
  proposal.error({field_of(keys::device_memory_budget),
                  *proposal.config.maybe(keys::device_memory_budget),
                  "backend " + proposal.backend +
                      (plans ? " has no memory of a device" : " does not plan its memory"),
                  plans ? "omit it; memory_budget is about the process's memory"
                        : "omit it, or use a backend that plans its device's memory"});
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
  const auto space = planned_by(proposal);
  settle_storage(proposal, !space || *space == PlannedSpace::process);
  check_size(proposal, keys::memory_budget);
  check_size(proposal, keys::device_memory_budget);
  const Offload offload = proposal.config.maybe(keys::offload).value_or(Offload::automatic);
  check_groups(proposal, offload);
  if (!space) return;
  if (proposal.config.maybe(keys::device_memory_budget) && *space != PlannedSpace::device)
    refuse_device_budget(proposal, *space);
  const auto given = proposal.config.maybe(keys::memory_budget);
  const bool asked = given || offload != Offload::automatic;
  if (proposal.limits_memory()) refuse_packing(proposal);
  if (!asked || *space != PlannedSpace::none) return;
  proposal.error({given ? field_of(keys::memory_budget) : field_of(keys::offload),
                  given ? *given : name_of(offload),
                  "backend " + proposal.backend + " does not plan memory",
                  "omit it, or use backend cpu"});
}

}  // namespace omnirt::validation
