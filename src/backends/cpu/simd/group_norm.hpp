#pragma once
#include <cstdint>

#include "backends/cpu/simd/types.hpp"

namespace omnirt::cpu {

// Floats {batch, pixels, channels}, channels contiguous; strides count floats.
template <class Float>
struct PixelView {
  Float* data;
  int64_t batch_stride;
  int64_t pixel_stride;
};

struct GroupNormShape {
  int64_t batch, pixels, channels;
  int64_t groups;  // divides channels
  double eps;
};

// Group normalisation (Wu & He 2018, arXiv 1803.08494). Sums are taken about a value near each
// channel's mean and gathered in double, so that a mean 10^4 times the deviation costs no digits. A
// NaN or an infinity makes its whole group NaN. No bit depends on the number of threads or on
// batch. At most team_size() threads. weight and bias: {channels}, or null.

// y = act((x - mean) / sqrt(variance + eps) * weight + bias). y may be x.
void group_norm(const GroupNormShape& shape, const PixelView<const float>& x, const float* weight,
                const float* bias, Activation activation, const PixelView<float>& y);

// Only the statistics: scale and shift {batch, channels}, with which group_norm is
// act(x * scale + shift), for a convolution that applies them as it reads x. (That form loses
// digits where the mean is far larger than the deviation; group_norm itself does not use it.)
void group_norm_scale_shift(const GroupNormShape& shape, const PixelView<const float>& x,
                            const float* weight, const float* bias, float* scale, float* shift);

}  // namespace omnirt::cpu
