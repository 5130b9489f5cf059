#include "backends/cpu/simd/group_norm_groups.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace omnirt::cpu {
namespace {

struct Moments {
  double mean, variance;
};

// Of the group's channels at `first`, by the parallel form of Chan, Golub and LeVeque ("Algorithms
// for computing the sample variance", 1983): each channel's own variance, and that of their means.
Moments group_moments(const ChannelSums& sums, int64_t first, int64_t count, double pixels) {
  double mean = 0, squares = 0;
  const auto mean_of = [&](int64_t c) {
    return static_cast<double>(sums.near[c]) + sums.sum[c] / pixels;
  };
  for (int64_t c = first; c < first + count; ++c) mean += mean_of(c) / static_cast<double>(count);
  for (int64_t c = first; c < first + count; ++c) {
    const double own = sums.squares[c] - sums.sum[c] * sums.sum[c] / pixels;
    const double apart = mean_of(c) - mean;
    squares += (own < 0 ? 0 : own) + pixels * apart * apart;
  }
  return {mean, squares / (pixels * static_cast<double>(count))};
}

}  // namespace

void finish_groups(const GroupNormShape& shape, int64_t first, int64_t count,
                   const ChannelSums& sums, const float* weight, const float* bias, bool centred,
                   const ChannelTerms& terms) {
  const int64_t width = shape.channels / shape.groups;
  for (int64_t group = 0; group < count; group += width) {
    const Moments moments = group_moments(sums, group, width, static_cast<double>(shape.pixels));
    const double inverse = 1.0 / std::sqrt(moments.variance + shape.eps);
    const float mean = static_cast<float>(moments.mean);
    // What rounding the mean left over goes into the shift.
    const double rest = centred ? moments.mean - static_cast<double>(mean) : moments.mean;
    for (int64_t c = group; c < group + width; ++c) {
      const double scale = weight ? inverse * static_cast<double>(weight[first + c]) : inverse;
      const double offset = bias ? static_cast<double>(bias[first + c]) : 0.0;
      if (centred) terms.mean[c] = mean;
      terms.scale[c] = static_cast<float>(scale);
      terms.shift[c] = static_cast<float>(offset - rest * scale);
    }
  }
}

int64_t chunk_pixels(int64_t pixels) {
  const int64_t even = (pixels + 63) / 64;
  return std::max<int64_t>(256, (even + 63) / 64 * 64);
}

int64_t slice_channels(const GroupNormShape& shape) {
  constexpr int64_t line = 16, least = 64;
  const int64_t whole = std::lcm(shape.channels / shape.groups, line);
  return std::min(shape.channels, (least + whole - 1) / whole * whole);
}

}  // namespace omnirt::cpu
