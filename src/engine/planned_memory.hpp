#pragma once
#include "engine/memory_plan.hpp"
#include "request/proposal.hpp"

namespace omnirt {

// The memory plan of a run that asks for one, or that there is too little free memory for (both as
// they are at the moment); nothing where all simply stays.
struct PlannedMemory {
  PlanningFacts facts;
  PlanningWishes wishes{};  // as the request has them
  bool given = false;       // the budget: by the request
  bool on_device = false;   // the plan is of the device's memory, else of the process's
  RunMemoryPlan plan{};
  // What the process takes next to a device.
  struct OfProcess {
    PlanningFacts facts;
    std::optional<uint64_t> budget_bytes{};
    RunMemoryPlan plan{};
  };
  std::optional<OfProcess> process{};
  MemoryPlanReport report{};
  bool fits() const { return plan.fits && (!process || process->plan.fits); }
};
// Settles on tiles of the autoencoder where a budget cannot be kept without them and the request
// says nothing about them.
std::optional<PlannedMemory> plan_memory(Proposal& proposal, LoadedPipeline& pipeline,
                                         Backend& backend, const CancelToken* cancel);
// What a plan cannot keep of what the request asks for is an error of the proposal, which names the
// least budget that can be.
void refuse_unfit(Proposal& proposal, const PlannedMemory& planned);

}  // namespace omnirt
