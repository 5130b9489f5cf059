// Numbers as sums of two bf16 ones. A Highway per-target header.
#if defined(OMNIRT_CPU_SPLIT_NUMBERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_SPLIT_NUMBERS_INL_H_
#undef OMNIRT_CPU_SPLIT_NUMBERS_INL_H_
#else
#define OMNIRT_CPU_SPLIT_NUMBERS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "backends/cpu/simd/split_kernels.hpp"
#include "backends/cpu/simd/winograd_input-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using BitsTag = hn::RebindToUnsigned<FloatTag>;
using BitsVec = hn::Vec<BitsTag>;

HWY_INLINE float from_bf16(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

// The nearest bf16, ties to even, in the upper half; the lower is not cleared. Not for NaN.
HWY_INLINE BitsVec round_to_bf16(FloatVec x) {
  const BitsTag d;
  const BitsVec bits = hn::BitCast(d, x);
  const BitsVec odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  return hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff)));
}

// bf16 in upper halves; what is in the lower ones does not count.
struct SplitVec {
  BitsVec high, low;
};

// What is infinite or not a number has the low part 0.
HWY_INLINE SplitVec split_vector(FloatVec x) {
  const FloatTag d;
  const BitsTag bits;
  const BitsVec rounded = round_to_bf16(x);
  const BitsVec high = hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(x)), hn::Set(bits, 0x7fc00000),
                                      hn::And(rounded, hn::Set(bits, 0xffff0000)));
  const FloatVec near = hn::BitCast(d, high);
  const FloatVec rest = hn::IfThenElseZero(hn::IsFinite(near), hn::Sub(x, near));
  return {high, round_to_bf16(rest)};
}

// Pairs {upper half of even, upper half of odd}, a lane each.
HWY_INLINE void store_pairs(BitsVec even, BitsVec odd, uint16_t* to) {
  const BitsTag d;
  HWY_ALIGN uint32_t pairs[float_lanes];
  hn::Store(hn::Or(hn::ShiftRight<16>(even), hn::And(odd, hn::Set(d, 0xffff0000))), d, pairs);
  std::memcpy(to, pairs, sizeof(pairs));
}

// The upper halves of `a`'s lanes, then of `b`'s.
HWY_INLINE void store_upper(BitsVec a, BitsVec b, uint16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  to[0] = static_cast<uint16_t>(hn::GetLane(a) >> 16);
  to[1] = static_cast<uint16_t>(hn::GetLane(b) >> 16);
#else
  const hn::Repartition<uint16_t, BitsTag> halves;
  hn::StoreU(hn::ConcatOdd(halves, hn::BitCast(halves, b), hn::BitCast(halves, a)), halves, to);
#endif
}

// The nearest bf16 in upper halves.
HWY_INLINE BitsVec rounded_vector(FloatVec x) {
  const BitsTag bits;
  return hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(x)), hn::Set(bits, 0x7fc00000),
                        round_to_bf16(x));
}

// One step's values.
HWY_INLINE void round_numbers(const float* values, uint16_t* to) {
  const FloatTag d;
  for (size_t i = 0; i < static_cast<size_t>(split_step); i += 2 * float_lanes)
    store_upper(rounded_vector(hn::Load(d, values + i)),
                rounded_vector(hn::Load(d, values + i + float_lanes)), to + i);
}

HWY_INLINE void split_numbers(const float* values, uint16_t* high, uint16_t* low) {
  const FloatTag d;
  for (size_t i = 0; i < static_cast<size_t>(split_step); i += 2 * float_lanes) {
    const SplitVec a = split_vector(hn::Load(d, values + i));
    const SplitVec b = split_vector(hn::Load(d, values + i + float_lanes));
    store_upper(a.high, b.high, high + i);
    store_upper(a.low, b.low, low + i);
  }
}

// 32 numbers of an even and of an odd inner index (null: zeros) -> their line of a step's tiles:
// two of each part.
template <size_t parts>
HWY_INLINE void pack_pair(const float* even, const float* odd, uint16_t* to) {
  const FloatTag d;
  for (size_t n = 0; n < static_cast<size_t>(split_panel); n += float_lanes) {
    const FloatVec a = even ? hn::Load(d, even + n) : hn::Zero(d);
    const FloatVec b = odd ? hn::Load(d, odd + n) : hn::Zero(d);
    uint16_t* at = to + n / 16 * 512 + n % 16 * 2;
    if constexpr (parts == 1) {
      store_pairs(rounded_vector(a), rounded_vector(b), at);
      continue;
    }
    const SplitVec first = split_vector(a), second = split_vector(b);
    store_pairs(first.high, second.high, at);
    store_pairs(first.low, second.low, at + 1024);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
