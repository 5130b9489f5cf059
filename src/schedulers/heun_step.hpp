#pragma once
#include <optional>

#include "schedulers/history.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {

// Heun's two calls per step (Karras et al., arXiv 2206.00364, algorithm 1, without churn): the
// first goes along the derivative to the next level, the second takes the mean of both derivatives
// from where the step began.
class HeunStep {
 public:
  void begin_run() { start_.reset(); }

  // The sample after a call, of the derivative at this sample; `dt` is the first call's way to the
  // next level.
  Tensor advance(const Tensor& sample, const Tensor& derivative, float dt);

  void visit_history(History& history);

 private:
  // Where the step under way began.
  struct Start {
    Tensor sample;
    Tensor derivative;
    float dt = 0;
  };
  std::optional<Start> start_;
};

}  // namespace omnirt
