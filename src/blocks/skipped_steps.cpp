#include "blocks/skipped_steps.hpp"

#include <cmath>

namespace omnirt::blocks {
namespace {

// The nearest of the ratios, whose first and last are those of the first and last step.
float ratio_at(std::span<const double> ratios, size_t step, size_t steps) {
  if (ratios.size() == steps) return static_cast<float>(ratios[step]);
  if (steps == 1) return static_cast<float>(ratios.back());
  const auto scale =
      static_cast<float>(static_cast<double>(ratios.size() - 1) / static_cast<double>(steps - 1));
  return static_cast<float>(
      ratios[static_cast<size_t>(std::nearbyint(static_cast<float>(step) * scale))]);
}

}  // namespace

std::vector<bool> skipped_steps(std::span<const double> ratios, size_t steps,
                                const SkipSettings& settings) {
  std::vector<bool> skips(steps, false);
  if (ratios.empty()) return skips;
  const auto retained = static_cast<size_t>(settings.retention * static_cast<double>(steps) + 0.5);
  float ratio = 1, error = 0;
  size_t skipped = 0;
  for (size_t step = retained; step < steps; ++step) {
    ratio *= ratio_at(ratios, step, steps);
    error += std::abs(1.0F - ratio);
    ++skipped;
    // The first step has nothing to reuse.
    if (step > 0 && error <= static_cast<float>(settings.threshold) &&
        skipped <= settings.max_skips) {
      skips[step] = true;
      continue;
    }
    ratio = 1;
    error = 0;
    skipped = 0;
  }
  return skips;
}

}  // namespace omnirt::blocks
