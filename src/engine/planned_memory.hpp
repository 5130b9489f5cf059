#pragma once
#include "engine/memory_plan.hpp"
#include "engine/rehearsal.hpp"
#include "request/proposal.hpp"

namespace omnirt {

// The plan of one space.
struct PlannedSpaceUse {
  Space space;  // none: the process
  PlanningFacts facts{};
  PlanningWishes wishes{};  // as the request has them
  RunMemoryPlan plan{};
};

// The memory plan of a run that asks for one, or that there is too little free memory for (both as
// they are at the moment); nothing where all simply stays. Each space is planned by itself, with
// the components that compute there.
struct PlannedMemory {
  std::vector<PlannedSpaceUse> spaces;  // the process's is among them
  bool given = false;                   // a budget: by the request
  MemoryPlanReport report{};
  bool fits() const;
  uint64_t peak_bytes() const;  // of all spaces that weights are in
  std::map<std::string, Residency> residency() const;
};
// Settles on tiles of the autoencoder where a budget cannot be kept without them and the request
// says nothing about them.
std::optional<PlannedMemory> plan_memory(Proposal& proposal, LoadedPipeline& pipeline,
                                         const CancelToken* cancel);
// What a plan cannot keep of what the request asks for is an error of the proposal, which names the
// least budget that can be.
void refuse_unfit(Proposal& proposal, const PlannedMemory& planned);

}  // namespace omnirt
