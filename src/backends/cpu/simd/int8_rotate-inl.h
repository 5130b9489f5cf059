// Rows multiplied by a Hadamard matrix (int8.hpp). A Highway per-target header.
#if defined(OMNIRT_CPU_INT8_ROTATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_INT8_ROTATE_INL_H_
#undef OMNIRT_CPU_INT8_ROTATE_INL_H_
#else
#define OMNIRT_CPU_INT8_ROTATE_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/simd/int8_quantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums are taken in one order on every target, so that all have the same bits.
HWY_INLINE Int8FloatVec half_sum(Int8FloatVec a, Int8FloatVec b, Int8FloatVec c, Int8FloatVec e) {
  return hn::Mul(hn::Set(Int8Float(), 0.5f), hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

// Numbers 1, 2 and 3 steps from each other, in place.
HWY_INLINE void rotate_step(float* x, size_t step) {
  const Int8Float d;
  for (size_t i = 0; i < step; i += int_lanes, x += int_lanes) {
    const Int8FloatVec a = hn::LoadU(d, x), b = hn::LoadU(d, x + step);
    const Int8FloatVec c = hn::LoadU(d, x + 2 * step), e = hn::LoadU(d, x + 3 * step);
    const Int8FloatVec half = half_sum(a, b, c, e);
    hn::StoreU(hn::Sub(half, e), d, x);
    hn::StoreU(hn::Sub(half, c), d, x + step);
    hn::StoreU(hn::Sub(half, b), d, x + 2 * step);
    hn::StoreU(hn::Sub(half, a), d, x + 3 * step);
  }
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void rotate_sixteen(const float* x, float* to) {
  for (size_t i = 0; i < 16; ++i) to[i] = x[i];
  for (size_t i = 0; i < 16; i += 4) rotate_step(to + i, 1);
  rotate_step(to, 4);
}
#else
// Fours of neighbours.
HWY_INLINE Int8FloatVec rotate_fours(Int8FloatVec x) {
  const Int8Float d;
  const Int8FloatVec pairs = hn::Add(x, hn::Shuffle2301(x));
  const Int8FloatVec sum = hn::Add(pairs, hn::Shuffle1032(pairs));
  return hn::Sub(hn::Mul(hn::Set(d, 0.5f), sum), hn::Shuffle0123(x));
}

// Sixteen numbers: fours of neighbours, then numbers four apart.
HWY_INLINE void rotate_sixteen(const float* x, float* to) {
  const Int8Float d;
  const Int8FloatVec half = hn::Set(d, 0.5f);
  if constexpr (int_lanes == 16) {
    const Int8FloatVec v = rotate_fours(hn::LoadU(d, x));
    const Int8FloatVec pairs = hn::Add(v, hn::SwapAdjacentBlocks(v));
    const Int8FloatVec sum = hn::Add(pairs, hn::ConcatLowerUpper(d, pairs, pairs));
    hn::StoreU(hn::Sub(hn::Mul(half, sum), hn::ReverseBlocks(d, v)), d, to);
  } else if constexpr (int_lanes == 8) {
    const Int8FloatVec v = rotate_fours(hn::LoadU(d, x)), w = rotate_fours(hn::LoadU(d, x + 8));
    const Int8FloatVec v_turned = hn::SwapAdjacentBlocks(v), w_turned = hn::SwapAdjacentBlocks(w);
    const Int8FloatVec sum = hn::Mul(half, hn::Add(hn::Add(v, v_turned), hn::Add(w, w_turned)));
    hn::StoreU(hn::Sub(sum, w_turned), d, to);
    hn::StoreU(hn::Sub(sum, v_turned), d, to + 8);
  } else {
    for (size_t i = 0; i < 16; i += int_lanes)
      hn::StoreU(rotate_fours(hn::LoadU(d, x + i)), d, to + i);
    rotate_step(to, 4);
  }
}
#endif

// Groups of 16, 64 or 256.
void int8_rotate_row(const float* x, size_t count, size_t group, float* to) {
  for (size_t first = 0; first < count; first += group) {
    float* at = to + first;
    for (size_t i = 0; i < group; i += 16) rotate_sixteen(x + first + i, at + i);
    for (size_t step = 16; step < group; step *= 4)
      for (size_t i = 0; i < group; i += 4 * step) rotate_step(at + i, step);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
