#include "families/flux3/target_timestep.hpp"

#include <ATen/ops/full.h>

namespace omnirt::flux3 {

void TargetTimestep::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  const Schedule& along = frame[schedule];
  const auto& timesteps = along.scheduler->timesteps();
  const size_t next = along.begin + at.step + 1;
  const double target = next < timesteps.size() ? timesteps[next] : 0.0;
  const auto rows = static_cast<int64_t>(batch.rows.size());
  batch.inputs["target_timestep"].emplace_back(at::full({rows}, target, at::kFloat));
}

}  // namespace omnirt::flux3
