#pragma once
#include "families/flux3/check.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::flux3 {

// Tells a flow map where each step ends: at the timestep of the next call, after the last one at 0
// (reference: Flux3DistilledLoopDenoiser).
class TargetTimestep final : public StepBlock {
 public:
  TargetTimestep()
      : StepBlock("target_timestep", Stage::denoise_loop, Guidance::shared, is_flow_map()) {}
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
};

}  // namespace omnirt::flux3
