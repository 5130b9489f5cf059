#pragma once
#include <span>
#include <vector>

namespace omnirt {

// One step of SA-Solver (arXiv 2309.05019), in half the log signal-to-noise ratio; tau, 0 or 1, is
// how much noise is added during the step.
struct SaStep {
  float from;
  float to;
  int tau;
};

// The weights of the outputs at `lambdas` (the latest first, up to 4): the integral over the step
// of the Lagrange polynomials through them, times the exponential that the image or the noise is
// predicted under. Of the second order, that for images is the exact one of the data's own rule,
// another for the corrector. fp32 in the reference's order of operations: their differences cancel.
std::vector<float> sa_data_coefficients(const SaStep& step, std::span<const float> lambdas,
                                        bool corrects);
std::vector<float> sa_noise_coefficients(const SaStep& step, std::span<const float> lambdas);

}  // namespace omnirt
