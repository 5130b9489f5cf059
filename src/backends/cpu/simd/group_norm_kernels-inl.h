// The loops of group_norm over the pixels of one sample.
// A Highway per-target header.
#if defined(OMNIRT_CPU_GROUP_NORM_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_GROUP_NORM_KERNELS_INL_H_
#undef OMNIRT_CPU_GROUP_NORM_KERNELS_INL_H_
#else
#define OMNIRT_CPU_GROUP_NORM_KERNELS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/group_norm_groups.hpp"
#include "backends/cpu/simd/math-inl.h"
#include "backends/cpu/simd/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Single-precision sums run over this many pixels, then go into double.
constexpr int64_t sum_pixels = 64;

// About where the mean of each channel is: the mean of up to 16 pixels spread over the sample. Sums
// of differences from it have nothing to cancel.
HWY_INLINE void near_means(const float* x, int64_t pixel_stride, int64_t pixels, size_t channels,
                           float* means) {
  const int64_t samples = std::min<int64_t>(pixels, 16);
  const float by = 1.0f / static_cast<float>(samples);
  std::fill(means, means + channels, 0.0f);
  for (int64_t i = 0; i < samples; ++i) {
    const float* row = x + i * pixels / samples * pixel_stride;
    for (size_t c = 0; c < channels; ++c) means[c] += row[c] * by;
  }
}

template <class V>
HWY_INLINE void add_difference(V x, V mean, V& sum, V& squares) {
  const V d = hn::Sub(x, mean);
  sum = hn::Add(sum, d);
  squares = hn::MulAdd(d, d, squares);
}

// sum[c] += x - means[c], squares[c] += (x - means[c])^2 over `rows` pixels for the channels of one
// vector.
template <class Tag>
HWY_INLINE void add_rows(Tag tag, const float* x, int64_t stride, int64_t rows, const float* means,
                         float* sum, float* squares) {
  const auto mean = hn::LoadU(tag, means);
  auto s = hn::LoadU(tag, sum), q = hn::LoadU(tag, squares);
  for (int64_t row = 0; row < rows; ++row) {
    add_difference(hn::LoadU(tag, x + row * stride), mean, s, q);
  }
  hn::StoreU(s, tag, sum);
  hn::StoreU(q, tag, squares);
}

// Four pixels at a time go through all channels: as good for the prefetcher as one, and the sums
// are loaded and stored a quarter as often.
HWY_INLINE void add_pixels(const float* x, int64_t stride, int64_t pixels, size_t channels,
                           const float* means, float* sum, float* squares) {
  const FloatTag tag;
  const hn::CappedTag<float, 1> one;
  for (int64_t pixel = 0; pixel < pixels; pixel += 4) {
    const int64_t rows = std::min<int64_t>(4, pixels - pixel);
    const float* row = x + pixel * stride;
    size_t c = 0;
    if (rows == 4) {
      for (; c + float_lanes <= channels; c += float_lanes) {
        add_rows(tag, row + c, stride, 4, means + c, sum + c, squares + c);
      }
    }
    for (; c + float_lanes <= channels; c += float_lanes) {
      add_rows(tag, row + c, stride, rows, means + c, sum + c, squares + c);
    }
    for (; c < channels; ++c) add_rows(one, row + c, stride, rows, means + c, sum + c, squares + c);
  }
}

// Sums over the pixels of a chunk, in double. `work`: 2 * channels floats.
HWY_INLINE void chunk_sums(const float* x, int64_t stride, int64_t pixels, size_t channels,
                           const float* means, float* work, double* sum, double* squares) {
  float *s = work, *q = work + channels;
  std::fill(sum, sum + channels, 0.0);
  std::fill(squares, squares + channels, 0.0);
  for (int64_t pixel = 0; pixel < pixels; pixel += sum_pixels) {
    std::fill(s, s + 2 * channels, 0.0f);
    add_pixels(x + pixel * stride, stride, std::min(sum_pixels, pixels - pixel), channels, means, s,
               q);
    for (size_t c = 0; c < channels; ++c) sum[c] += static_cast<double>(s[c]);
    for (size_t c = 0; c < channels; ++c) squares[c] += static_cast<double>(q[c]);
  }
}

// y = act((x - mean) * scale + shift) over pixels, mean, scale and shift per channel.
template <Activation kind>
HWY_NOINLINE void normalise_pixels(const float* x, int64_t x_stride, int64_t pixels,
                                   size_t channels, const ChannelTerms& terms, float* y,
                                   int64_t y_stride) {
  const FloatTag tag;
  const hn::CappedTag<float, 1> one;
  const auto at = [&](auto d, size_t c) HWY_ATTR {
    const auto centred = hn::Sub(hn::LoadU(d, x + c), hn::LoadU(d, terms.mean + c));
    const auto z =
        hn::MulAdd(centred, hn::LoadU(d, terms.scale + c), hn::LoadU(d, terms.shift + c));
    hn::StoreU(activate<kind>(z), d, y + c);
  };
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    size_t c = 0;
    for (; c + float_lanes <= channels; c += float_lanes) at(tag, c);
    for (; c < channels; ++c) at(one, c);
    x += x_stride;
    y += y_stride;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
