// How a tile's input is read: as it is in memory, or scaled, shifted and activated.
#if defined(OMNIRT_CPU_WINOGRAD_INPUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_WINOGRAD_INPUT_INL_H_
#undef OMNIRT_CPU_WINOGRAD_INPUT_INL_H_
#else
#define OMNIRT_CPU_WINOGRAD_INPUT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "backends/cpu/simd/math-inl.h"
#include "backends/cpu/simd/winograd_forms-inl.h"
#include "backends/cpu/simd/winograd_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

struct TilePlace {
  int64_t sample, row, column;  // in tiles
  TilePlace(const WinogradGrid& grid, int64_t tile)
      : sample(tile / (grid.tile_rows * grid.tile_columns)),
        row(tile / grid.tile_columns % grid.tile_rows),
        column(tile % grid.tile_columns) {}
};

HWY_INLINE FloatVec load_first(const float* from, size_t count) {
  HWY_ALIGN float copy[float_lanes] = {};
  std::memcpy(copy, from, count * sizeof(float));
  return hn::Load(FloatTag(), copy);
}

enum class Reading { plain, scaled, silu };

// Of one vector of channels.
struct ChannelNorm {
  FloatVec scale, shift;
};

// Of the sample that a tile belongs to.
template <Reading reading>
struct SampleNorm {
  const float* scale = nullptr;
  const float* shift = nullptr;

  SampleNorm(const GatherTask& task, int64_t tile) {
    if constexpr (reading != Reading::plain) {
      const int64_t start = TilePlace(*task.grid, tile).sample * task.x.scale_stride;
      scale = task.x.scale + start;
      shift = task.x.shift + start;
    }
  }
  HWY_INLINE ChannelNorm whole(int64_t channel) const {
    const FloatTag d;
    if constexpr (reading == Reading::plain) return {hn::Zero(d), hn::Zero(d)};
    return {hn::LoadU(d, scale + channel), hn::LoadU(d, shift + channel)};
  }
  HWY_INLINE ChannelNorm edge(int64_t channel, int64_t count) const {
    const FloatTag d;
    if constexpr (reading == Reading::plain) return {hn::Zero(d), hn::Zero(d)};
    const size_t first = static_cast<size_t>(count);
    return {load_first(scale + channel, first), load_first(shift + channel, first)};
  }
};

// a / b for normal b up to 2^126.
HWY_INLINE FloatVec quotient(FloatVec a, FloatVec b) {
#if HWY_TARGET <= HWY_AVX3
  // Fourteen bits of 1 / b, doubled by a step of Newton's: a third of a division's time.
  const FloatVec near = hn::ApproximateReciprocal(b);
  return hn::Mul(hn::Mul(a, near), hn::NegMulAdd(b, near, hn::Set(FloatTag(), 2.0f)));
#else
  return hn::Div(a, b);
#endif
}

// x / (1 + e^-x), quicker than math-inl.h's, as up to 2.25 tiles (F4; F2: 4) activate each number.
// e^-x = 2^n e^-r: x is clamped so that 2^n is a normal number, past which the result is below
// 1e-35 or x itself. As factor x is not clamped: NaN and infinities stay what they are.
HWY_INLINE FloatVec quick_silu(FloatVec x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> bits;
  const FloatVec t = hn::Min(hn::Max(x, hn::Set(d, -87.0f)), hn::Set(d, 87.0f));
  // Adding 1.5 * 2^23 rounds to a whole number, which the sum's low bits hold: n + 127, the biased
  // exponent of 2^n.
  const FloatVec round = hn::Set(d, 12582912.0f + 127);
  const FloatVec sum = hn::MulAdd(t, hn::Set(d, -1.44269504f), round);
  const FloatVec n = hn::Sub(sum, round);
  const FloatVec power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, sum)));
  // ln 2 in two parts: the first has so few bits that n times it is exact.
  FloatVec r = hn::MulAdd(n, hn::Set(d, 0.693359375f), t);
  r = hn::MulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  // Weighted minimax fit on |r| <= ln(2) / 2: 9.3e-8 of e^-r.
  const FloatVec e =
      horner(r, 1.0f, -0.999999702f, 0.499991417f, -0.166676447f, 0.0418988504f, -0.00829014368f);
  return quotient(x, hn::MulAdd(e, power, hn::Set(d, 1.0f)));
}

// Zeros, not act(shift), where step is 0: the padding is of the activated input.
template <Reading reading>
HWY_INLINE FloatVec read_input(const float* x, int64_t step, const ChannelNorm& norm) {
  const FloatTag d;
  if constexpr (reading == Reading::plain) return hn::LoadU(d, x);
  if (step == 0) return hn::Zero(d);
  const FloatVec value = hn::MulAdd(hn::LoadU(d, x), norm.scale, norm.shift);
  return reading == Reading::silu ? quick_silu(value) : value;
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
