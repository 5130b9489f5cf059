#pragma once
#include <cstdint>
#include <vector>

#include "schedulers/config_checks.hpp"

namespace omnirt {

// original_inference_steps must be from 1 to the training steps.
void check_original_steps(ConfigChecks& checks, int64_t original_steps, int64_t train_steps);

// n timesteps from the noisiest down, of the `original_steps` that a model was distilled for
// (latent consistency models, arXiv 2310.04378; TCD). Throws Unsupported for more than there are.
std::vector<double> distilled_timesteps(int64_t train_steps, int64_t original_steps, int64_t n);

}  // namespace omnirt
