#pragma once
#include "engine/memory_plan.hpp"
#include "request/proposal.hpp"

namespace omnirt {

// Goes through a run without computing it: its blocks do their own work, and each call of a network
// is a dry forward whose results are zeros. Nothing is written. What the networks and blocks will
// take is returned; base_bytes is what the process has without them. Throws as the run would.
PlanningFacts rehearse(const Proposal& proposal, LoadedPipeline& pipeline, Backend& backend,
                       const CancelToken* cancel);

}  // namespace omnirt
