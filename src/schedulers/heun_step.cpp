#include "schedulers/heun_step.hpp"

#include <ATen/TensorOperators.h>

namespace omnirt {

Tensor HeunStep::advance(const Tensor& sample, const Tensor& derivative, float dt) {
  if (!start_) {
    start_ = Start{sample, derivative, dt};
    return sample + derivative * dt;
  }
  Start start = std::move(*start_);
  start_.reset();
  return start.sample + (start.derivative + derivative) / 2 * start.dt;
}

void HeunStep::visit_history(History& history) {
  Start start = start_.value_or(Start{});
  history("start_sample", start.sample);
  history("start_derivative", start.derivative);
  double dt = start.dt;
  history("start_dt", dt);
  start.dt = static_cast<float>(dt);
  start_ = start.sample.defined() ? std::optional(start) : std::nullopt;
}

}  // namespace omnirt
