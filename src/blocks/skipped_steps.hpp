#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace omnirt::blocks {

struct SkipSettings {
  double threshold = 0.06;  // the error that skipped steps may add up to
  size_t max_skips = 3;     // one after the other
  double retention = 0.2;   // of the first steps, that are computed
};

// Which of `steps` steps of a loop reuse what the blocks of a transformer added before (MagCache,
// Ma et al. 2025, arXiv 2506.09045; as diffusers' hooks/mag_cache.py, in fp32 as there): `ratios`
// say by how much that grows from step to step, and are stretched to the steps.
std::vector<bool> skipped_steps(std::span<const double> ratios, size_t steps,
                                const SkipSettings& settings);

}  // namespace omnirt::blocks
