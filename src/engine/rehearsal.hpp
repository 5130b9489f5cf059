#pragma once
#include <map>
#include <optional>

#include "engine/memory_plan.hpp"
#include "request/proposal.hpp"

namespace omnirt {

// Memory that a run takes: a device's own, or (without one) the process's.
using Space = std::optional<DeviceId>;

// Where a component's weights are computed with.
Space space_of(const LoadedComponent& component);
// What a run will take of each space; the process is always one of them.
using Rehearsed = std::map<Space, PlanningFacts>;

// Goes through a run without computing it: its blocks do their own work, and each call of a network
// is a dry forward whose results are zeros. Nothing is written. What the networks and blocks will
// take is returned; base_bytes is what is taken without them. Throws as the run would.
Rehearsed rehearse(const Proposal& proposal, LoadedPipeline& pipeline, const CancelToken* cancel);

// Bytes that the weights of the pipeline's components in `space` have in forms of their own, from
// earlier runs.
uint64_t held_forms(const LoadedPipeline& pipeline, const Space& space);

}  // namespace omnirt
