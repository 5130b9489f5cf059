// What a request says of memory, as far as its words go; whether a run fits is known once its
// networks' shapes are (engine/planned_memory.hpp).
#include "base/byte_size.hpp"
#include "pipeline/memory_keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

bool plans(const Proposal& proposal) {
  for (const BackendInfo& info : proposal.catalogue->backends) {
    if (info.name == proposal.backend && info.make) return info.make()->capabilities().plans_memory;
  }
  return true;  // no backend was settled on, which is a finding of its own
}

}  // namespace

void check_memory(Proposal& proposal) {
  settle_storage(proposal, plans(proposal));
  auto given = proposal.config.maybe(keys::memory_budget);
  const std::string field = std::string("config.") + keys::memory_budget.name;
  if (given && !parse_byte_size(*given))
    proposal.error(
        {field, *given, "not a size of memory", "give a number with a unit: 6GB, 800MB"});
  const Offload offload = proposal.config.maybe(keys::offload).value_or(Offload::automatic);
  if (proposal.config.maybe(keys::blocks_per_group) && offload != Offload::group) {
    proposal.error({std::string("config.") + keys::blocks_per_group.name, "",
                    "has no effect without offload group", "add it, or remove this"});
  }
  const bool asked = given || offload != Offload::automatic;
  if (!asked || plans(proposal)) return;
  proposal.error({given ? field : std::string("config.") + keys::offload.name,
                  given ? *given : name_of(offload),
                  "backend " + proposal.backend + " does not plan memory",
                  "omit it, or use backend cpu"});
}

}  // namespace omnirt::validation
