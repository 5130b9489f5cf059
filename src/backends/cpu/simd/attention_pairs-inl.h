// What attention with products of numbers rounded to bf16 does in addition: queries, keys, values
// and weights as pairs of bf16, each in the room of a float. Queries and keys are paired over dims,
// weights and values over keys. A Highway per-target header.
#if defined(OMNIRT_CPU_ATTENTION_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_ATTENTION_PAIRS_INL_H_
#undef OMNIRT_CPU_ATTENTION_PAIRS_INL_H_
#else
#define OMNIRT_CPU_ATTENTION_PAIRS_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/simd/attention_kernels-inl.h"
#include "backends/cpu/simd/bf16_vector-inl.h"
#include "backends/cpu/simd/gemm_epilogue-inl.h"

#if OMNIRT_BF16_VECTORS
HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void store_pairs(PairsVec pairs, float* to) {
  hn::StoreU(hn::BitCast(FloatTag(), pairs), FloatTag(), to);
}

// Rows [dim][query] -> pairs of dims [dim / 2][query], in place.
HWY_INLINE void pair_queries(float* queries, size_t dims) {
  const FloatTag d;
  for (size_t dim = 0; dim < dims; dim += 2) {
    for (size_t at = 0; at < block_queries; at += float_lanes) {
      const float* even = queries + dim * block_queries + at;
      const FloatVec odd = dim + 1 < dims ? hn::Load(d, even + block_queries) : hn::Zero(d);
      store_pairs(nearest_pairs(hn::Load(d, even), odd), queries + dim / 2 * block_queries + at);
    }
  }
}

// A key's dims -> pairs of these; `to` has room for whole half vectors.
HWY_INLINE void pair_key(const float* key, size_t dims, float* to) {
  for (size_t dim = 0; dim < dims; dim += float_lanes)
    store_nearest_bf16(load_some(key + dim, dims - dim), to + dim / 2);
}

// Two keys' values (the second null: zeros) -> pairs of them.
HWY_INLINE void pair_values(const float* even, const float* odd, size_t dims, float* to) {
  for (size_t dim = 0; dim < dims; dim += float_lanes) {
    const size_t count = dims - dim;
    const FloatVec second = odd ? load_some(odd + dim, count) : hn::Zero(FloatTag());
    store_some(hn::BitCast(FloatTag(), nearest_pairs(load_some(even + dim, count), second)),
               to + dim, count);
  }
}

// 2^x as in exp2_weight, to 1e-4 of itself: what is rounded to bf16 is right to 4e-3.
HWY_INLINE FloatVec exp2_rough(FloatVec x) {
  constexpr int down = 0x09;  // to -infinity, no exceptions
  const FloatTag d;
  const FloatVec r{_mm512_reduce_ps(x.raw, down)};
  // Minimax fit of the relative error on [0, 1): 7.5e-5.
  FloatVec p = hn::MulAdd(hn::Set(d, 0.07802449f), r, hn::Set(d, 0.22606758f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.69583318f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.99992528f));
  const __mmask16 kept = _mm512_cmp_ps_mask(x.raw, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
  return FloatVec{_mm512_maskz_scalef_ps(kept, p.raw, x.raw)};
}

// Scores become weights 2^(score - highest) in pairs of keys, in place; returns their sum.
HWY_INLINE FloatPair weigh_pairs(float* scores, size_t count, const FloatPair& highest) {
  const FloatTag d;
  FloatPair sum{hn::Zero(d), hn::Zero(d)};
  for (size_t key = 0; key < count; key += 2) {
    FloatPair even = load_pair(scores + key * block_queries), odd{hn::Zero(d), hn::Zero(d)};
    even = {exp2_rough(hn::Sub(even.a, highest.a)), exp2_rough(hn::Sub(even.b, highest.b))};
    if (key + 1 < count) {
      odd = load_pair(scores + (key + 1) * block_queries);
      odd = {exp2_rough(hn::Sub(odd.a, highest.a)), exp2_rough(hn::Sub(odd.b, highest.b))};
    }
    sum.a = hn::Add(sum.a, hn::Add(even.a, odd.a));
    sum.b = hn::Add(sum.b, hn::Add(even.b, odd.b));
    float* to = scores + key / 2 * block_queries;
    store_pairs(nearest_pairs(even.a, odd.a), to);
    store_pairs(nearest_pairs(even.b, odd.b), to + float_lanes);
  }
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
#endif
