#include "families/flux2/timesteps.hpp"

namespace omnirt::flux2 {

double empirical_mu(int64_t image_tokens, int64_t steps) {
  constexpr double a1 = 8.73809524e-05, b1 = 1.89833333;
  constexpr double a2 = 0.00016927, b2 = 0.45666666;
  constexpr int64_t large = 4300;
  auto tokens = static_cast<double>(image_tokens);
  double at_200_steps = a2 * tokens + b2;
  if (image_tokens > large) return at_200_steps;
  double at_10_steps = a1 * tokens + b1;
  double slope = (at_200_steps - at_10_steps) / 190.0;
  return slope * static_cast<double>(steps) + (at_200_steps - 200.0 * slope);
}

blocks::LevelShift level_shift() {
  return {[](const Json&, int64_t tokens, int64_t steps) { return empirical_mu(tokens, steps); }};
}

}  // namespace omnirt::flux2
