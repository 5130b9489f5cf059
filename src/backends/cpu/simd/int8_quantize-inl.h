// Floats to bytes and a file's weights to floats. A Highway per-target header.
#if defined(OMNIRT_CPU_INT8_QUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_INT8_QUANTIZE_INL_H_
#undef OMNIRT_CPU_INT8_QUANTIZE_INL_H_
#else
#define OMNIRT_CPU_INT8_QUANTIZE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/simd/int8_kernels.hpp"
#include "backends/cpu/simd/int8_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Int8Float = hn::Rebind<float, IntTag>;
using Int8FloatVec = hn::Vec<Int8Float>;

// Fewer than a vector; zeros fill it.
HWY_INLINE Int8FloatVec int8_load_some(const float* from, size_t count) {
  HWY_ALIGN float part[int_lanes] = {};
  std::memcpy(part, from, count * sizeof(float));
  return hn::Load(Int8Float(), part);
}

// Low, high and, in `poison`, zero or (once an infinity or a NaN was seen) NaN: minima and maxima
// may drop those.
struct RangeVec {
  Int8FloatVec low, high, poison;
  HWY_INLINE void take(Int8FloatVec x) {
    low = hn::Min(low, x);
    high = hn::Max(high, x);
    poison = hn::MulAdd(x, hn::Zero(Int8Float()), poison);
  }
};

Int8Range int8_range(const float* x, size_t count) {
  const Int8Float d;
  const Int8FloatVec zero = hn::Zero(d);
  RangeVec a{zero, zero, zero}, b = a;
  size_t i = 0;
  for (; i + 2 * int_lanes <= count; i += 2 * int_lanes) {
    a.take(hn::LoadU(d, x + i));
    b.take(hn::LoadU(d, x + i + int_lanes));
  }
  for (; i + int_lanes <= count; i += int_lanes) a.take(hn::LoadU(d, x + i));
  if (i < count) a.take(int8_load_some(x + i, count - i));
  const float poison = hn::GetLane(hn::SumOfLanes(d, hn::Add(a.poison, b.poison)));
  if (poison != 0.0f) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    return {nan, nan};
  }
  return {hn::GetLane(hn::MinOfLanes(d, hn::Min(a.low, b.low))),
          hn::GetLane(hn::MaxOfLanes(d, hn::Max(a.high, b.high)))};
}

// One vector; the bytes go to out[0, lanes).
template <class Byte>
HWY_INLINE void quantize_vector(Int8FloatVec x, Int8FloatVec inverse, IntVec zero, Byte* out) {
  const hn::Rebind<Byte, IntTag> bytes;
  const IntVec value = hn::Add(hn::NearestInt(hn::Mul(x, inverse)), zero);
  hn::StoreU(hn::DemoteTo(bytes, value), bytes, out);
}

template <class Byte>
HWY_INLINE void quantize_rest(const float* x, size_t count, Int8FloatVec inverse, IntVec zero,
                              Byte* out) {
  size_t i = 0;
  for (; i + int_lanes <= count; i += int_lanes)
    quantize_vector(hn::LoadU(Int8Float(), x + i), inverse, zero, out + i);
  if (i < count) {
    HWY_ALIGN Byte part[int_lanes];
    quantize_vector(int8_load_some(x + i, count - i), inverse, zero, part);
    std::memcpy(out + i, part, count - i);
  }
}

void int8_quantize(const float* x, size_t count, float inverse, int32_t zero, uint8_t* out) {
  const Int8Float d;
  const Int8FloatVec by = hn::Set(d, inverse);
  size_t i = 0;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  // Four vectors at once: packing works within 128-bit blocks, one permutation fixes all.
  const hn::Repartition<int16_t, IntTag> d16;
  const auto zero16 = hn::Set(d16, static_cast<int16_t>(zero));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const auto rounded = [&](size_t at) HWY_ATTR {
    return hn::NearestInt(hn::Mul(hn::LoadU(d, x + at), by)).raw;
  };
  for (; i + 64 <= count; i += 64) {
    const __m512i low =
        _mm512_adds_epi16(_mm512_packs_epi32(rounded(i), rounded(i + 16)), zero16.raw);
    const __m512i high =
        _mm512_adds_epi16(_mm512_packs_epi32(rounded(i + 32), rounded(i + 48)), zero16.raw);
    const __m512i packed = _mm512_packus_epi16(low, high);
    _mm512_storeu_si512(out + i, _mm512_permutexvar_epi32(order, packed));
  }
#endif
  quantize_rest(x + i, count - i, by, hn::Set(IntTag(), zero), out + i);
}

void int8_quantize_weights(const float* x, size_t count, float inverse, int8_t* out) {
  quantize_rest(x, count, hn::Set(Int8Float(), inverse), hn::Zero(IntTag()), out);
}

template <class Half>
HWY_INLINE void widen_halves(const uint8_t* from, size_t count, float* to) {
  const Int8Float d;
  const hn::Rebind<uint16_t, IntTag> d16;
  for (size_t i = 0; i < count; i += int_lanes) {
    const size_t some = std::min(int_lanes, count - i);
    HWY_ALIGN uint16_t bits[int_lanes] = {};
    std::memcpy(bits, from + i * sizeof(uint16_t), some * sizeof(uint16_t));
    HWY_ALIGN float part[int_lanes];
    hn::Store(hn::PromoteTo(d, hn::BitCast(hn::Rebind<Half, IntTag>(), hn::Load(d16, bits))), d,
              part);
    std::memcpy(to + i, part, some * sizeof(float));
  }
}

void int8_widen(const void* from, WeightType type, size_t count, float* to) {
  const uint8_t* bytes = static_cast<const uint8_t*>(from);
  switch (type) {
    case WeightType::f32:
      std::memcpy(to, bytes, count * sizeof(float));
      return;
    case WeightType::f16:
      return widen_halves<hwy::float16_t>(bytes, count, to);
    case WeightType::bf16:
      return widen_halves<hwy::bfloat16_t>(bytes, count, to);
    case WeightType::encoded:
      return;  // Int8Packer reads these
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
