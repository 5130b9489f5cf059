// The inner loops of attention for one block of queries. Lanes run over queries: scores are held as
// S^T[key][query] and the result as O^T[dim][query], so that both products broadcast K and V from
// where they are (nothing of them is packed), the softmax is vertical code, and no lane is idle
// whatever the head width. A query block is `block_queries` = 2 vectors wide.
// A Highway per-target header.
#if defined(OMNIRT_CPU_ATTENTION_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_ATTENTION_KERNELS_INL_H_
#undef OMNIRT_CPU_ATTENTION_KERNELS_INL_H_
#else
#define OMNIRT_CPU_ATTENTION_KERNELS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <numbers>
#include <utility>

#include "backends/cpu/simd/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t block_queries = panel_columns;
constexpr size_t attention_rows = micro_max_rows(2);

struct FloatPair {
  FloatVec a, b;
};

HWY_INLINE FloatPair load_pair(const float* from) {
  const FloatTag tag;
  return {hn::Load(tag, from), hn::Load(tag, from + float_lanes)};
}

HWY_INLINE void store_pair(const FloatPair& pair, float* to) {
  const FloatTag tag;
  hn::Store(pair.a, tag, to);
  hn::Store(pair.b, tag, to + float_lanes);
}

// Two vectors of what Product (PlainProduct, or PairsProduct of bf16-vector-inl.h) multiplies.
template <class Product>
struct LanesPair {
  typename Product::Lanes a, b;
};

template <class Product>
HWY_INLINE LanesPair<Product> load_lanes(const float* from) {
  return {Product::load(from), Product::load(from + float_lanes)};
}

template <class Product>
HWY_INLINE void multiply_add(float broadcast, const LanesPair<Product>& x, FloatPair& sum) {
  const typename Product::Lanes factor = Product::broadcast(broadcast);
  sum.a = Product::add(sum.a, factor, x.a);
  sum.b = Product::add(sum.b, factor, x.b);
}

// 1 + r (c1 + r (c2 + ...)).
HWY_INLINE FloatVec exp2_polynomial(FloatVec r, float c1, float c2, float c3, float c4, float c5) {
  const FloatTag tag;
  FloatVec p = hn::MulAdd(hn::Set(tag, c5), r, hn::Set(tag, c4));
  p = hn::MulAdd(p, r, hn::Set(tag, c3));
  p = hn::MulAdd(p, r, hn::Set(tag, c2));
  p = hn::MulAdd(p, r, hn::Set(tag, c1));
  return hn::MulAdd(p, r, hn::Set(tag, 1.0f));
}

// 2^x, relative error 1.6e-7; exactly 0 below -126, where results would be subnormal (slow,
// and negligible next to the largest weight, which is 1). NaN stays NaN. x <= 0 or NaN. The
// polynomials are those of least largest relative error (9e-8) with p(0) = 1.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// AVX-512 has x - floor(x) and p * 2^floor(x) as single instructions.
HWY_INLINE FloatVec exp2_weight(FloatVec x) {
  constexpr int down = 0x09;  // to -infinity, no exceptions
  const FloatVec r{_mm512_reduce_ps(x.raw, down)};
  const FloatVec p =
      exp2_polynomial(r, 0.693151312f, 0.24016445f, 5.57999132e-2f, 9.01703019e-3f, 1.86713012e-3f);
  const __mmask16 kept = _mm512_cmp_ps_mask(x.raw, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
  return FloatVec{_mm512_maskz_scalef_ps(kept, p.raw, x.raw)};
}
#else
HWY_INLINE FloatVec exp2_weight(FloatVec x) {
  const FloatTag tag;
  const hn::RebindToSigned<FloatTag> int_tag;
  // Adding 1.5 * 2^23 rounds to an integer held in the low bits; the +127 makes those bits the
  // biased exponent of 2^n.
  const FloatVec magic = hn::Set(tag, 12582912.0f + 127.0f);
  const FloatVec rounded = hn::Add(x, magic);
  const FloatVec r = hn::Sub(x, hn::Sub(rounded, magic));
  const FloatVec p =
      exp2_polynomial(r, 0.693146978f, 0.240222421f, 5.55073375e-2f, 9.6715127e-3f, 1.32647264e-3f);
  const FloatVec power = hn::BitCast(tag, hn::ShiftLeft<23>(hn::BitCast(int_tag, rounded)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(tag, -126.0f)), hn::Mul(p, power));
}
#endif

// scores[r][.] = sum over dim of keys[r][dim] * queries[dim][.] for R keys; the running maximum of
// each query in `highest` (block_queries floats).
template <class Product, size_t... R, size_t... G>
HWY_INLINE void score_rows(std::index_sequence<R...>, std::index_sequence<G...>,
                           const float* HWY_RESTRICT keys, size_t key_stride,
                           const float* HWY_RESTRICT queries, size_t dims,
                           float* HWY_RESTRICT scores, float* HWY_RESTRICT highest) {
  const FloatVec zero = hn::Zero(FloatTag());
  FloatPair sum[] = {((void)R, FloatPair{zero, zero})...};
  const float* base[] = {keys + 3 * G * key_stride...};  // as in micro_kernel-inl.h
  for (size_t dim = 0; dim < dims; ++dim) {
    const LanesPair<Product> x = load_lanes<Product>(queries + dim * block_queries);
    (multiply_add<Product>(base[R / 3][R % 3 * key_stride], x, sum[R]), ...);
    (++base[G], ...);
  }
  FloatPair top = load_pair(highest);
  ((top.a = hn::Max(top.a, sum[R].a), top.b = hn::Max(top.b, sum[R].b)), ...);
  store_pair(top, highest);
  (store_pair(sum[R], scores + R * block_queries), ...);
}

// result[r][.] = result[r][.] * decay[.] + sum over key of values[key][r] * weights[key][.] for R
// dims; with decay null, result is begun at zero. These keys are summed by themselves first: added
// to the result one by one, each would be rounded to the size of the sum over all keys, and over
// the tens of thousands of a large image these roundings show.
template <class Product, size_t... R>
HWY_INLINE void value_rows(std::index_sequence<R...>, const float* HWY_RESTRICT values,
                           size_t value_stride, const float* HWY_RESTRICT weights, size_t keys,
                           float* HWY_RESTRICT result, const float* HWY_RESTRICT decay) {
  const FloatVec zero = hn::Zero(FloatTag());
  FloatPair sum[] = {((void)R, FloatPair{zero, zero})...};
  for (size_t key = 0; key < keys; ++key) {
    const LanesPair<Product> w = load_lanes<Product>(weights + key * block_queries);
    (multiply_add<Product>(values[R], w, sum[R]), ...);
    values += value_stride;
  }
  if (decay != nullptr) {
    const FloatPair by = load_pair(decay);
    const FloatTag tag;
    ((sum[R].a = hn::MulAdd(hn::Load(tag, result + R * block_queries), by.a, sum[R].a),
      sum[R].b =
          hn::MulAdd(hn::Load(tag, result + R * block_queries + float_lanes), by.b, sum[R].b)),
     ...);
  }
  (store_pair(sum[R], result + R * block_queries), ...);
}

using ScoreFunction = void (*)(const float*, size_t, const float*, size_t, float*, float*);
using ValueFunction = void (*)(const float*, size_t, const float*, size_t, float*, const float*);

template <class Product, size_t rows>
HWY_NOINLINE void score_instance(const float* keys, size_t key_stride, const float* queries,
                                 size_t dims, float* scores, float* highest) {
  score_rows<Product>(std::make_index_sequence<rows>(), std::make_index_sequence<(rows + 2) / 3>(),
                      keys, key_stride, queries, dims, scores, highest);
}

template <class Product, size_t rows>
HWY_NOINLINE void value_instance(const float* values, size_t value_stride, const float* weights,
                                 size_t keys, float* result, const float* decay) {
  value_rows<Product>(std::make_index_sequence<rows>(), values, value_stride, weights, keys, result,
                      decay);
}

template <class Product, size_t... R>
HWY_INLINE ScoreFunction score_choice(size_t rows, std::index_sequence<R...>) {
  static constexpr ScoreFunction instances[] = {&score_instance<Product, R + 1>...};
  return instances[rows - 1];
}

template <class Product, size_t... R>
HWY_INLINE ValueFunction value_choice(size_t rows, std::index_sequence<R...>) {
  static constexpr ValueFunction instances[] = {&value_instance<Product, R + 1>...};
  return instances[rows - 1];
}

// scores[keys][block_queries]; `highest` is raised to the maximum over these keys. Strides and dims
// count floats' room.
template <class Product>
HWY_INLINE void score_block(const float* keys, size_t key_stride, size_t count,
                            const float* queries, size_t dims, float* scores, float* highest) {
  for_row_blocks(count, attention_rows, [&](size_t first, size_t rows) HWY_ATTR {
    score_choice<Product>(rows, std::make_index_sequence<attention_rows>())(
        keys + first * key_stride, key_stride, queries, dims, scores + first * block_queries,
        highest);
  });
}

// result[dims][block_queries] takes in the weighted values of a block of keys (of pairs of these).
template <class Product>
HWY_INLINE void value_block(const float* values, size_t value_stride, size_t count,
                            const float* weights, size_t dims, float* result, const float* decay) {
  for_row_blocks(dims, attention_rows, [&](size_t first, size_t rows) HWY_ATTR {
    value_choice<Product>(rows, std::make_index_sequence<attention_rows>())(
        values + first, value_stride, weights, count, result + first * block_queries, decay);
  });
}

// The bias of `queries` consecutive queries, at most block_queries, from some key on.
struct BiasRows {
  const float* data;
  int64_t query_stride, key_stride;
  size_t queries;
};

// The bias of one key, in lanes.
HWY_INLINE FloatPair bias_of_key(const BiasRows& bias, const float* at) {
  const FloatTag tag;
  if (bias.query_stride == 0) {
    const FloatVec all = hn::Set(tag, *at);
    return {all, all};
  }
  HWY_ALIGN float lanes[block_queries] = {};
  for (size_t q = 0; q < bias.queries; ++q) {
    lanes[q] = at[static_cast<int64_t>(q) * bias.query_stride];
  }
  return load_pair(lanes);
}

// Adds a bias to scores to base 2; `highest` is raised to the maximum over these keys.
HWY_INLINE void bias_block(const BiasRows& bias, size_t keys, float* scores, float* highest) {
  const FloatVec to_base_2 = hn::Set(FloatTag(), static_cast<float>(std::numbers::log2e));
  FloatPair top = load_pair(highest);
  for (size_t key = 0; key < keys; ++key) {
    const FloatPair more =
        bias_of_key(bias, bias.data + static_cast<int64_t>(key) * bias.key_stride);
    FloatPair score = load_pair(scores + key * block_queries);
    score.a = hn::MulAdd(more.a, to_base_2, score.a);
    score.b = hn::MulAdd(more.b, to_base_2, score.b);
    store_pair(score, scores + key * block_queries);
    top = {hn::Max(top.a, score.a), hn::Max(top.b, score.b)};
  }
  store_pair(top, highest);
}

// Queries without any weight get the sum 1, and so the result 0.
HWY_INLINE void weigh_nothing_as_one(float* total) {
  const FloatTag tag;
  for (size_t at = 0; at < block_queries; at += float_lanes) {
    const FloatVec sum = hn::Load(tag, total + at);
    const auto nothing = hn::Eq(sum, hn::Zero(tag));
    hn::Store(hn::IfThenElse(nothing, hn::Set(tag, 1.0f), sum), tag, total + at);
  }
}

// Scores become weights 2^(score - highest), in place; returns their sum over the keys.
HWY_INLINE FloatPair weigh_block(float* scores, size_t count, const FloatPair& highest) {
  const FloatVec zero = hn::Zero(FloatTag());
  FloatPair sum{zero, zero};
  for (size_t key = 0; key < count; ++key) {
    FloatPair w = load_pair(scores + key * block_queries);
    w.a = exp2_weight(hn::Sub(w.a, highest.a));
    w.b = exp2_weight(hn::Sub(w.b, highest.b));
    sum.a = hn::Add(sum.a, w.a);
    sum.b = hn::Add(sum.b, w.b);
    store_pair(w, scores + key * block_queries);
  }
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
