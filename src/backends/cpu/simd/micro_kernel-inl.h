// The register-blocked inner product that every product of this backend ends in.
//
//   micro_product<vectors>(rows, a, a_stride, b, b_stride, k, c, c_stride, accumulate)
//
//   c[r][n] = (accumulate ? c[r][n] : 0) +
//             sum over p < k of a[r * a_stride + p] * b[p * b_stride + n]
//   for r < rows, n < vectors * lanes
//
// * Strides count floats. `a` is read by broadcast straight from row-major memory. `b` may be a
//   packed panel (b_stride = panel_columns) or any row-major matrix; alignment is not needed, but
//   64-byte aligned panels are faster. `c` is written for whole vectors only: pass a tile of your
//   own (micro_max_rows * panel_columns floats) where fewer columns are wanted.
// * 1 <= rows <= micro_max_rows(vectors). Each row count is its own instance: rows
//   cost what they should from 4 rows up (below, the latency of the multiply-add shows: use more
//   vectors). For more rows: for_row_blocks(rows, max, body(first, count)) makes equal blocks.
// * Each c element is one chain of multiply-adds in the order of p, begun with c when accumulating:
//   neither the blocking of k nor that of rows or columns changes a bit of the result.
// * `panel_columns` (2 vectors: 32 floats with AVX-512, 16 with AVX2, 8 with SSE4, 2 scalar) is the
//   width that packed panels have; micro_max_rows(2) is 14 / 6 / 6 (accumulators, b and one
//   broadcast fill the 32 or 16 registers).
//
// A Highway per-target header: include it inside foreach_target's per-target part, after
// <hwy/highway.h>; it may be included by several -inl.h files of one target.
#if defined(OMNIRT_CPU_MICRO_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_MICRO_KERNEL_INL_H_
#undef OMNIRT_CPU_MICRO_KERNEL_INL_H_
#else
#define OMNIRT_CPU_MICRO_KERNEL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
constexpr size_t float_lanes = hn::MaxLanes(FloatTag());
constexpr size_t panel_columns = 2 * float_lanes;

// The most rows for which accumulators, the row of b and one broadcast stay in registers.
constexpr size_t micro_max_rows(size_t vectors) {
  constexpr size_t registers = float_lanes == 16 ? 32 : 16;
  const size_t rows = (registers - vectors - 1) / vectors;
  return rows < 14 ? rows : 14;
}

// Calls body(first, count) over [0, rows) in blocks of at most `most`, of equal size give or take
// one: a last block of one or two rows would run at a fraction of the speed.
template <class Body>
HWY_INLINE void for_row_blocks(size_t rows, size_t most, const Body& body) {
  const size_t blocks = (rows + most - 1) / most;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t first = rows * block / blocks;
    body(first, rows * (block + 1) / blocks - first);
  }
}

// How an element of a and a vector of b enter a sum: as numbers, or as other things in their room.
struct PlainProduct {
  static constexpr size_t per_slot = 1;  // numbers in the room of a float
  using Lanes = FloatVec;
  static HWY_INLINE Lanes broadcast(float a) { return hn::Set(FloatTag(), a); }
  static HWY_INLINE Lanes load(const float* b) { return hn::LoadU(FloatTag(), b); }
  static HWY_INLINE FloatVec add(FloatVec sum, Lanes a, Lanes b) { return hn::MulAdd(a, b, sum); }
};

// One row of accumulators. A struct of named members per row keeps them out of memory.
template <class Product, size_t... V>
struct MicroRow {
  static HWY_INLINE void load(FloatVec* sum, const float* c, bool accumulate) {
    const FloatTag tag;
    ((sum[V] = accumulate ? hn::LoadU(tag, c + V * float_lanes) : hn::Zero(tag)), ...);
  }
  static HWY_INLINE void add(FloatVec* sum, float a, const typename Product::Lanes* b) {
    const typename Product::Lanes broadcast = Product::broadcast(a);
    ((sum[V] = Product::add(sum[V], broadcast, b[V])), ...);
  }
  static HWY_INLINE void store(const FloatVec* sum, float* c) {
    (hn::StoreU(sum[V], FloatTag(), c + V * float_lanes), ...);
  }
};

template <class Product, size_t... R, size_t... V, size_t... G>
HWY_INLINE void micro_instance(std::index_sequence<R...>, std::index_sequence<V...>,
                               std::index_sequence<G...>, const float* HWY_RESTRICT a,
                               size_t a_stride, const float* HWY_RESTRICT b, size_t b_stride,
                               size_t k, float* HWY_RESTRICT c, size_t c_stride, bool accumulate) {
  using Row = MicroRow<Product, V...>;
  constexpr size_t vectors = sizeof...(V);
  FloatVec sum[sizeof...(R)][vectors];
  (Row::load(sum[R], c + R * c_stride, accumulate), ...);
  // A pointer for each three rows: row 3g+i is then base + i * stride, an address that x86 forms
  // without another register.
  const float* base[] = {a + 3 * G * a_stride...};
  for (size_t p = 0; p < k; ++p) {
    const typename Product::Lanes row[vectors] = {Product::load(b + V * float_lanes)...};
    (Row::add(sum[R], base[R / 3][R % 3 * a_stride], row), ...);
    (++base[G], ...);
    b += b_stride;
  }
  (Row::store(sum[R], c + R * c_stride), ...);
}

template <class Product, size_t vectors, size_t rows>
HWY_NOINLINE void micro_rows(const float* a, size_t a_stride, const float* b, size_t b_stride,
                             size_t k, float* c, size_t c_stride, bool accumulate) {
  micro_instance<Product>(std::make_index_sequence<rows>(), std::make_index_sequence<vectors>(),
                          std::make_index_sequence<(rows + 2) / 3>(), a, a_stride, b, b_stride, k,
                          c, c_stride, accumulate);
}

using MicroFunction = void (*)(const float* a, size_t a_stride, const float* b, size_t b_stride,
                               size_t k, float* c, size_t c_stride, bool accumulate);

template <class Product, size_t vectors, size_t... R>
HWY_INLINE MicroFunction micro_choice(size_t rows, std::index_sequence<R...>) {
  static constexpr MicroFunction instances[] = {&micro_rows<Product, vectors, R + 1>...};
  return instances[rows - 1];
}

template <size_t vectors = 2, class Product = PlainProduct>
HWY_INLINE void micro_product(size_t rows, const float* a, size_t a_stride, const float* b,
                              size_t b_stride, size_t k, float* c, size_t c_stride,
                              bool accumulate) {
  micro_choice<Product, vectors>(rows, std::make_index_sequence<micro_max_rows(vectors)>())(
      a, a_stride, b, b_stride, k, c, c_stride, accumulate);
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
