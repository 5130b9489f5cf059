// The instructions of AVX512-BF16 on Highway's vectors, which has no target for them before 1.0.5:
// in code for AVX-512 only, and to be run only where bf16_available() (bf16_product.hpp) or
// machine_bf16() says so. A Highway per-target header.
#if defined(OMNIRT_CPU_BF16_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_BF16_VECTOR_INL_H_
#undef OMNIRT_CPU_BF16_VECTOR_INL_H_
#else
#define OMNIRT_CPU_BF16_VECTOR_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/simd/micro_kernel-inl.h"

#undef OMNIRT_BF16_VECTORS
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
#define OMNIRT_BF16_VECTORS 1
#else
#define OMNIRT_BF16_VECTORS 0
#endif

#if OMNIRT_BF16_VECTORS
HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PairsTag = hn::RebindToUnsigned<FloatTag>;  // two bf16 a lane
using PairsVec = hn::Vec<PairsTag>;

// Assembly, for intrinsics would need the whole file (and what it includes) built for this unit.
// sum + the products of both bf16 of each lane.
HWY_INLINE FloatVec add_products(FloatVec sum, PairsVec a, PairsVec b) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
}

// For micro_kernel-inl.h and its like: numbers in pairs of bf16.
struct PairsProduct {
  static constexpr size_t per_slot = 2;
  using Lanes = PairsVec;
  static HWY_INLINE Lanes broadcast(float a) {
    return hn::BitCast(PairsTag(), hn::Set(FloatTag(), a));
  }
  static HWY_INLINE Lanes load(const float* b) {
    return hn::BitCast(PairsTag(), hn::LoadU(FloatTag(), b));
  }
  static HWY_INLINE FloatVec add(FloatVec sum, Lanes a, Lanes b) { return add_products(sum, a, b); }
};

// The nearest bf16, ties to even; subnormal numbers become zero: `low`'s, then `high`'s.
HWY_INLINE PairsVec nearest_bf16(FloatVec low, FloatVec high) {
  PairsVec result;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(result.raw) : "v"(low.raw), "v"(high.raw));
  return result;
}

// The nearest bf16 of a vector's numbers, as half a vector.
HWY_INLINE void store_nearest_bf16(FloatVec x, void* to) {
  __m256i result;
  asm("vcvtneps2bf16 %1, %0" : "=v"(result) : "v"(x.raw));
  _mm256_storeu_si256(static_cast<__m256i*>(to), result);
}

// Lane i: the nearest bf16 of even's number i, then of odd's.
HWY_INLINE PairsVec nearest_pairs(FloatVec even, FloatVec odd) {
  alignas(64) static constexpr uint16_t order[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                     21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                     11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return PairsVec{_mm512_permutexvar_epi16(_mm512_load_si512(order), nearest_bf16(even, odd).raw)};
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
#endif
