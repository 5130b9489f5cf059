#pragma once
#include <optional>

#include "engine/memory_plan.hpp"
#include "request/proposal.hpp"

namespace omnirt {

struct Rehearsed {
  PlanningFacts weights{};              // of the memory that weights are computed with in
  std::optional<PlanningFacts> host{};  // of the process's, where that is a device's
};

// Goes through a run without computing it: its blocks do their own work, and each call of a network
// is a dry forward whose results are zeros. Nothing is written. What the networks and blocks will
// take is returned; base_bytes is what is taken without them. Throws as the run would.
Rehearsed rehearse(const Proposal& proposal, LoadedPipeline& pipeline, Backend& backend,
                   const CancelToken* cancel);

// Bytes that the pipeline's weights have in forms of their own, from earlier runs.
uint64_t held_forms(const LoadedPipeline& pipeline);

}  // namespace omnirt
