#include "backends/cpu/simd/rms_norm.hpp"

#include <cmath>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/rms_norm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/elementwise_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// Two chains hide the latency of a multiplication and addition.
HWY_INLINE double sum_of_squares(const float* x, int64_t width) {
  constexpr int64_t lanes = float_lanes;
  const FloatTag tag;
  FloatVec a = hn::Zero(tag), b = hn::Zero(tag);
  int64_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    const FloatVec first = hn::LoadU(tag, x + i), second = hn::LoadU(tag, x + i + lanes);
    a = hn::MulAdd(first, first, a);
    b = hn::MulAdd(second, second, b);
  }
  HWY_ALIGN float sums[float_lanes];
  hn::Store(hn::Add(a, b), tag, sums);
  double total = 0;
  for (const float sum : sums) total += static_cast<double>(sum);
  for (; i < width; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

HWY_INLINE void normalise_row(const RmsNormArgs& args, const float* x, float* y) {
  const double mean = sum_of_squares(x, args.width) / static_cast<double>(args.width);
  const float scale = static_cast<float>(1.0 / std::sqrt(mean + args.eps));
  for_vectors(args.width, [&](auto tag, int64_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(tag, x + i), hn::Set(tag, scale));
    hn::StoreU(hn::Mul(scaled, hn::LoadU(tag, args.weight + i)), tag, y + i);
  });
}

void rms_norm_kernel(const RmsNormArgs& args) {
  const int64_t stretch = args.parts * args.width;
  for_parts(args.rows, stretch, [&](int64_t first, int64_t count) HWY_ATTR {
    for (int64_t row = first; row < first + count; ++row) {
      for (int64_t at = 0; at < stretch; at += args.width)
        normalise_row(args, args.x + row * args.x_stride + at, args.y + row * stretch + at);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omnirt::cpu {

HWY_EXPORT(rms_norm_kernel);

void rms_norm(const RmsNormArgs& args) {
  HWY_DYNAMIC_DISPATCH(rms_norm_kernel)(args);
}

}  // namespace omnirt::cpu
#endif
