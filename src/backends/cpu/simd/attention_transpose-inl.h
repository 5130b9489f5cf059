// Rows of queries into the lane-per-query form of attention_kernels-inl.h, and back. A vector takes
// four dims of one query in each of its 128-bit blocks; then a 4x4 transpose within the blocks is
// all that is left to do, on every target.
// A Highway per-target header.
#if defined(OMNIRT_CPU_ATTENTION_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_ATTENTION_TRANSPOSE_INL_H_
#undef OMNIRT_CPU_ATTENTION_TRANSPOSE_INL_H_
#else
#define OMNIRT_CPU_ATTENTION_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/attention_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where `count` rows (1..block_queries) of a query block are.
template <class Float>
struct QueryRows {
  Float* first;
  int64_t stride;
  size_t count;
  // Lanes past the last row repeat it: they cost nothing and hold no surprising values.
  Float* at(size_t row) const {
    return first + static_cast<int64_t>(row < count ? row : count - 1) * stride;
  }
};

#if HWY_TARGET != HWY_SCALAR  // one lane has no blocks: the loops over single dims do it all
// Block i of the vector: four floats at dim of row 4 i + `row`.
template <class Tag>
HWY_INLINE hn::Vec<Tag> gather_rows(Tag tag, const QueryRows<const float>& rows, size_t row,
                                    size_t dim) {
  constexpr size_t lanes = hn::MaxLanes(Tag());
  if constexpr (lanes == 4) {
    return hn::LoadU(tag, rows.at(row) + dim);
  } else {
    const hn::Half<Tag> half;
    return hn::Combine(tag, gather_rows(half, rows, row + lanes / 2, dim),
                       gather_rows(half, rows, row, dim));
  }
}

template <class Tag>
HWY_INLINE void scatter_rows(Tag tag, hn::Vec<Tag> x, const QueryRows<float>& rows, size_t row,
                             size_t dim) {
  constexpr size_t lanes = hn::MaxLanes(Tag());
  if constexpr (lanes == 4) {
    if (row < rows.count) hn::StoreU(x, tag, rows.at(row) + dim);
  } else {
    const hn::Half<Tag> half;
    scatter_rows(half, hn::LowerHalf(half, x), rows, row, dim);
    scatter_rows(half, hn::UpperHalf(half, x), rows, row + lanes / 2, dim);
  }
}

// The 4x4 transpose of each 128-bit block position over x[0..3].
HWY_INLINE void transpose_blocks(FloatVec x[4]) {
  const FloatTag tag;
  const FloatVec a = hn::InterleaveLower(tag, x[0], x[2]);
  const FloatVec b = hn::InterleaveLower(tag, x[1], x[3]);
  const FloatVec c = hn::InterleaveUpper(tag, x[0], x[2]);
  const FloatVec d = hn::InterleaveUpper(tag, x[1], x[3]);
  x[0] = hn::InterleaveLower(tag, a, b);
  x[1] = hn::InterleaveUpper(tag, a, b);
  x[2] = hn::InterleaveLower(tag, c, d);
  x[3] = hn::InterleaveUpper(tag, c, d);
}

// packed[dim][query] for the dims that fill blocks of four; returns how many.
HWY_INLINE size_t pack_whole_blocks(const QueryRows<const float>& rows, size_t dims, float scale,
                                    float* packed) {
  const FloatTag tag;
  const FloatVec by = hn::Set(tag, scale);
  size_t dim = 0;
  for (; dim + 4 <= dims; dim += 4) {
    for (size_t at = 0; at < block_queries; at += float_lanes) {
      FloatVec x[4] = {gather_rows(tag, rows, at, dim), gather_rows(tag, rows, at + 1, dim),
                       gather_rows(tag, rows, at + 2, dim), gather_rows(tag, rows, at + 3, dim)};
      transpose_blocks(x);
      float* to = packed + dim * block_queries + at;
      hn::Store(hn::Mul(x[0], by), tag, to);
      hn::Store(hn::Mul(x[1], by), tag, to + block_queries);
      hn::Store(hn::Mul(x[2], by), tag, to + 2 * block_queries);
      hn::Store(hn::Mul(x[3], by), tag, to + 3 * block_queries);
    }
  }
  return dim;
}

HWY_INLINE size_t unpack_whole_blocks(const float* result, const float* inverse, size_t dims,
                                      const QueryRows<float>& rows) {
  const FloatTag tag;
  size_t dim = 0;
  for (; dim + 4 <= dims; dim += 4) {
    for (size_t at = 0; at < rows.count; at += float_lanes) {
      const float* from = result + dim * block_queries + at;
      const FloatVec by = hn::Load(tag, inverse + at);
      FloatVec x[4] = {hn::Mul(hn::Load(tag, from), by),
                       hn::Mul(hn::Load(tag, from + block_queries), by),
                       hn::Mul(hn::Load(tag, from + 2 * block_queries), by),
                       hn::Mul(hn::Load(tag, from + 3 * block_queries), by)};
      transpose_blocks(x);
      for (size_t i = 0; i < 4; ++i) scatter_rows(tag, x[i], rows, at + i, dim);
    }
  }
  return dim;
}
#else
HWY_INLINE size_t pack_whole_blocks(const QueryRows<const float>&, size_t, float, float*) {
  return 0;
}

HWY_INLINE size_t unpack_whole_blocks(const float*, const float*, size_t, const QueryRows<float>&) {
  return 0;
}
#endif

// packed[dim][block_queries] = rows[query][dim] * scale.
HWY_INLINE void pack_queries(const QueryRows<const float>& rows, size_t dims, float scale,
                             float* packed) {
  for (size_t dim = pack_whole_blocks(rows, dims, scale, packed); dim < dims; ++dim) {
    for (size_t q = 0; q < block_queries; ++q) {
      packed[dim * block_queries + q] = rows.at(q)[dim] * scale;
    }
  }
}

// rows[query][dim] = result[dim][query] / total[query].
HWY_INLINE void unpack_result(const float* result, const float* total, size_t dims,
                              const QueryRows<float>& rows) {
  const FloatTag tag;
  const FloatVec one = hn::Set(tag, 1.0f);
  HWY_ALIGN float inverse[block_queries];
  for (size_t at = 0; at < block_queries; at += float_lanes) {
    hn::Store(hn::Div(one, hn::Load(tag, total + at)), tag, inverse + at);
  }
  for (size_t dim = unpack_whole_blocks(result, inverse, dims, rows); dim < dims; ++dim) {
    for (size_t q = 0; q < rows.count; ++q) {
      rows.at(q)[dim] = result[dim * block_queries + q] * inverse[q];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
