// The end of an int8 product: integer sums to y. A Highway per-target header.
#if defined(OMNIRT_CPU_INT8_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_INT8_FINISH_INL_H_
#undef OMNIRT_CPU_INT8_FINISH_INL_H_
#else
#define OMNIRT_CPU_INT8_FINISH_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/simd/int8_quantize-inl.h"
#include "backends/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One vector of sums, scaled, with the bias. The zero point is taken off in integers, where no
// bit is lost.
HWY_INLINE Int8FloatVec finish_sums(const Int8Finish& task, const int32_t* sums, size_t n,
                                    IntVec zero, Int8FloatVec scale) {
  const Int8Float d;
  const IntVec shift = hn::Mul(zero, hn::LoadU(IntTag(), task.weight_sums + n));
  const IntVec sum = hn::Sub(hn::LoadU(IntTag(), sums + n), shift);
  return hn::MulAdd(hn::Mul(hn::ConvertTo(d, sum), scale), hn::LoadU(d, task.weight_scales + n),
                    hn::LoadU(d, task.bias + n));
}

template <bool whole>
HWY_INLINE Int8FloatVec finish_load(const float* from, size_t count) {
  return whole ? hn::LoadU(Int8Float(), from) : int8_load_some(from, count);
}

// What a whole tile knows: kept out of the loops over vectors.
template <Activation kind, bool gated, bool added>
struct FinishRow {
  const Int8Finish& task;
  const Int8Row& row;
  const int32_t* sums;
  IntVec zero;
  Int8FloatVec scale;

  template <bool whole>
  HWY_INLINE void vector(size_t n) const {
    const size_t column = task.column + n, count = task.columns - n;
    Int8FloatVec value = finish_sums(task, sums, n, zero, scale);
    if constexpr (gated)
      value = hn::Mul(value, gelu(finish_sums(task, sums, n + int8_panel, zero, scale)));
    if constexpr (added) {
      if (row.extra) value = hn::Add(value, finish_load<whole>(row.extra + column, count));
      if (row.residual) value = hn::Add(value, finish_load<whole>(row.residual + column, count));
    }
    value = activate<kind>(value);
    if constexpr (whole) {
      hn::StoreU(value, Int8Float(), row.y + column);
    } else {
      HWY_ALIGN float part[int_lanes];
      hn::Store(value, Int8Float(), part);
      std::memcpy(row.y + column, part, count * sizeof(float));
    }
  }

  HWY_INLINE void run() const {
    if (task.columns == int8_panel) {
      for (size_t n = 0; n < int8_panel; n += int_lanes) vector<true>(n);
      return;
    }
    size_t n = 0;
    for (; n + int_lanes <= task.columns; n += int_lanes) vector<true>(n);
    if (n < task.columns) vector<false>(n);
  }
};

template <Activation kind, bool gated>
HWY_NOINLINE void finish_tile(const Int8Finish& task) {
  for (size_t r = 0; r < task.row_count; ++r) {
    const Int8Row& row = task.rows[r];
    const int32_t* sums = task.sums + r * task.sums_stride;
    const IntVec zero = hn::Set(IntTag(), row.zero);
    const Int8FloatVec scale = hn::Set(Int8Float(), row.scale);
    if (row.extra || row.residual)
      FinishRow<kind, gated, true>{task, row, sums, zero, scale}.run();
    else
      FinishRow<kind, gated, false>{task, row, sums, zero, scale}.run();
  }
}

void int8_finish(const Int8Finish& task) {
  if (task.gated) return finish_tile<Activation::none, true>(task);
  switch (task.activation) {
    case Activation::none:
      return finish_tile<Activation::none, false>(task);
    case Activation::silu:
      return finish_tile<Activation::silu, false>(task);
    case Activation::gelu:
      return finish_tile<Activation::gelu, false>(task);
    case Activation::gelu_tanh:
      return finish_tile<Activation::gelu_tanh, false>(task);
    case Activation::quick_gelu:
      return finish_tile<Activation::quick_gelu, false>(task);
    case Activation::relu:
      return finish_tile<Activation::relu, false>(task);
    case Activation::leaky_relu:
      return finish_tile<Activation::leaky_relu, false>(task);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
