#include "families/flux3/target_timestep.hpp"

#include <ATen/ops/full.h>

namespace omnirt::flux3 {

void TargetTimestep::before_predict(Frame& /*frame*/, const LoopProgress& at,
                                    RowBatch& batch) const {
  const auto rows = static_cast<int64_t>(batch.rows.size());
  batch.inputs["target_timestep"].emplace_back(at::full({rows}, at.next_timestep, at::kFloat));
}

}  // namespace omnirt::flux3
