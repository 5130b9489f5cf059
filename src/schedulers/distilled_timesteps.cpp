#include "schedulers/distilled_timesteps.hpp"

#include <fmt/format.h>

#include <cmath>

namespace omnirt {

void check_original_steps(ConfigChecks& checks, int64_t original_steps, int64_t train_steps) {
  checks.require(original_steps >= 1 && original_steps <= train_steps, "original_inference_steps",
                 original_steps,
                 fmt::format("from 1 to the {} training steps were expected", train_steps));
}

std::vector<double> distilled_timesteps(int64_t train_steps, int64_t original_steps, int64_t n) {
  if (n > original_steps) {
    refuse_steps(n, fmt::format("the model was distilled for {} steps", original_steps),
                 fmt::format("use up to {}, or a larger original_inference_steps", original_steps));
  }
  int64_t stride = train_steps / original_steps;
  double every = static_cast<double>(original_steps) / static_cast<double>(n);
  std::vector<double> timesteps;
  for (int64_t i = 0; i < n; ++i) {
    auto skipped = static_cast<int64_t>(std::floor(static_cast<double>(i) * every));
    timesteps.push_back(static_cast<double>((original_steps - skipped) * stride - 1));
  }
  return timesteps;
}

}  // namespace omnirt
