#include "backends/cpu/simd/layer_norm.hpp"

#include <cmath>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/layer_norm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/elementwise_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// Two chains hide the latency of an addition; their lanes are gathered once per row.
struct LaneSums {
  FloatVec a, b;
  // Written out: an implicit constructor would not be compiled for the target.
  HWY_INLINE LaneSums() : a(hn::Zero(FloatTag())), b(hn::Zero(FloatTag())) {}
  HWY_INLINE double total() const {
    HWY_ALIGN float lanes[float_lanes];
    hn::Store(hn::Add(a, b), FloatTag(), lanes);
    double sum = 0;
    for (const float lane : lanes) sum += static_cast<double>(lane);
    return sum;
  }
};

HWY_INLINE float row_mean(const float* x, int64_t width) {
  constexpr int64_t lanes = float_lanes;
  const FloatTag tag;
  LaneSums sums;
  int64_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    sums.a = hn::Add(sums.a, hn::LoadU(tag, x + i));
    sums.b = hn::Add(sums.b, hn::LoadU(tag, x + i + lanes));
  }
  double total = sums.total();
  for (; i < width; ++i) total += static_cast<double>(x[i]);
  return static_cast<float>(total / static_cast<double>(width));
}

struct RowTerms {
  float rest;     // what the rounded mean misses
  float inverse;  // 1 / sqrt(variance + eps)
};

HWY_INLINE RowTerms row_terms(const float* x, int64_t width, float mean, double eps) {
  constexpr int64_t lanes = float_lanes;
  const FloatTag tag;
  const FloatVec by = hn::Set(tag, mean);
  LaneSums sums, squares;
  int64_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    const FloatVec a = hn::Sub(hn::LoadU(tag, x + i), by);
    const FloatVec b = hn::Sub(hn::LoadU(tag, x + i + lanes), by);
    sums.a = hn::Add(sums.a, a);
    sums.b = hn::Add(sums.b, b);
    squares.a = hn::MulAdd(a, a, squares.a);
    squares.b = hn::MulAdd(b, b, squares.b);
  }
  double sum = sums.total(), square = squares.total();
  for (; i < width; ++i) {
    const double d = static_cast<double>(x[i] - mean);
    sum += d;
    square += d * d;
  }
  const double count = static_cast<double>(width), rest = sum / count;
  const double variance = square / count - rest * rest;
  return {static_cast<float>(rest),
          static_cast<float>(1.0 / std::sqrt((variance < 0 ? 0 : variance) + eps))};
}

HWY_INLINE void normalise_row(const LayerNormArgs& args, const float* x, float* y) {
  const float mean = row_mean(x, args.width);
  const RowTerms terms = row_terms(x, args.width, mean, args.eps);
  for_vectors(args.width, [&](auto tag, int64_t i) HWY_ATTR {
    const auto d = hn::Sub(hn::LoadU(tag, x + i), hn::Set(tag, mean));
    auto z = hn::Mul(hn::Sub(d, hn::Set(tag, terms.rest)), hn::Set(tag, terms.inverse));
    if (args.weight) z = hn::Mul(z, hn::LoadU(tag, args.weight + i));
    if (args.bias) z = hn::Add(z, hn::LoadU(tag, args.bias + i));
    hn::StoreU(z, tag, y + i);
  });
}

void layer_norm_kernel(const LayerNormArgs& args) {
  for_parts(args.rows, args.width, [&](int64_t first, int64_t count) HWY_ATTR {
    for (int64_t row = first; row < first + count; ++row) {
      normalise_row(args, args.x + row * args.x_stride, args.y + row * args.y_stride);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omnirt::cpu {

HWY_EXPORT(layer_norm_kernel);

void layer_norm(const LayerNormArgs& args) {
  HWY_DYNAMIC_DISPATCH(layer_norm_kernel)(args);
}

}  // namespace omnirt::cpu
#endif
