#include "backends/cpu/simd/split_attention_kernels.hpp"

#include <algorithm>
#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/split_attention_kernels.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/attention_kernels-inl.h"
#include "backends/cpu/simd/split_numbers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

constexpr size_t step_keys = split_step;

// Scores i to i + a vector of `keys`; -infinity past them. whole: there is no past.
template <bool whole>
HWY_INLINE FloatVec load_scores(const float* scores, size_t i, size_t keys) {
  const FloatTag d;
  if constexpr (whole) return hn::Load(d, scores + i);
  const FloatVec lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  if (i >= keys) return lowest;
  const FloatVec all = hn::Load(d, scores + i);
  if (i + float_lanes <= keys) return all;
  return hn::IfThenElse(hn::FirstN(d, keys - i), all, lowest);
}

// Four maxima side by side: one would wait for itself.
template <bool whole>
HWY_INLINE float highest_of(const float* scores, size_t keys, float before) {
  const FloatTag d;
  FloatVec top[4];
  for (FloatVec& one : top) one = hn::Set(d, before);
  for (size_t i = 0; i < keys; i += 4 * float_lanes) {
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j)
      top[j] = hn::Max(top[j], load_scores<whole>(scores, i + j * float_lanes, keys));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]))));
}

// Weights are finite or NaN, and not negative: their high part may be cut off instead of rounded.
// The low one is rounded by the half that is added, ties upwards.
HWY_INLINE SplitVec split_weight(FloatVec w) {
  const FloatTag d;
  const BitsTag bits;
  const BitsVec high = hn::And(hn::BitCast(bits, w), hn::Set(bits, 0xffff0000));
  const FloatVec rest = hn::Sub(w, hn::BitCast(d, high));
  return {high, hn::Add(hn::BitCast(bits, rest), hn::Set(bits, 0x8000))};
}

// The weights of one row; returns their sum.
template <size_t parts, bool whole>
HWY_INLINE float weigh_row(const SplitWeigh& task, size_t row, float highest) {
  const FloatTag d;
  const float* scores = task.scores + row * task.stride;
  const FloatVec top = hn::Set(d, highest);
  FloatVec sum_a = hn::Zero(d), sum_b = hn::Zero(d);
  for (size_t first = 0; first < task.keys; first += step_keys) {
    uint16_t* to = task.weights + first / step_keys * parts * task.plane + row * step_keys;
#pragma GCC unroll 4
    for (size_t i = first; i < first + step_keys; i += 2 * float_lanes, to += 2 * float_lanes) {
      const FloatVec a = exp2_weight(hn::Sub(load_scores<whole>(scores, i, task.keys), top));
      const FloatVec b =
          exp2_weight(hn::Sub(load_scores<whole>(scores, i + float_lanes, task.keys), top));
      sum_a = hn::Add(sum_a, a);
      sum_b = hn::Add(sum_b, b);
      if constexpr (parts == 1) {
        store_upper(rounded_vector(a), rounded_vector(b), to);
        continue;
      }
      const SplitVec split_a = split_weight(a), split_b = split_weight(b);
      store_upper(split_a.high, split_b.high, to);
      store_upper(split_a.low, split_b.low, to + task.plane);
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum_a, sum_b)));
}

template <size_t parts, bool whole>
HWY_INLINE void weigh_rows(const SplitWeigh& task) {
  const FloatTag d;
  for (size_t row = 0; row < task.rows; ++row) {
    const float before = task.first ? std::numeric_limits<float>::lowest() : task.highest[row];
    const float now = highest_of<whole>(task.scores + row * task.stride, task.keys, before);
    const float decay = task.first ? 0.0f : hn::GetLane(exp2_weight(hn::Set(d, before - now)));
    const float sum = weigh_row<parts, whole>(task, row, now);
    task.total[row] = task.first ? sum : task.total[row] * decay + sum;
    task.highest[row] = now;
    task.decay[row] = decay;
  }
}

template <size_t parts>
void weigh(const SplitWeigh& task) {
  // A multiple of what a loop takes at a time.
  task.keys % (4 * step_keys) == 0 ? weigh_rows<parts, true>(task) : weigh_rows<parts, false>(task);
}

// Up to 32 numbers, zeros past `count`; null: all zeros.
HWY_INLINE void load_columns(const float* from, size_t count, float* to) {
  std::fill_n(to, split_panel, 0.0f);
  if (from) std::copy_n(from, count, to);
}

template <size_t parts>
void pack_values(const SplitValues& task) {
  const auto count = static_cast<size_t>(std::min(split_panel, task.dims - task.column));
  uint16_t* to = task.panel;
  for (int64_t first = 0; first < task.keys; first += split_step, to += panel_step_values(parts)) {
    for (int64_t i = 0; i < split_step; i += 2) {
      HWY_ALIGN float even[split_panel];
      HWY_ALIGN float odd[split_panel];
      const float* at = task.values + (first + i) * task.stride + task.column;
      load_columns(first + i < task.keys ? at : nullptr, count, even);
      load_columns(first + i + 1 < task.keys ? at + task.stride : nullptr, count, odd);
      pack_pair<parts>(even, odd, to + i / 2 * 32);
    }
  }
}

void scale_rows(float* y, size_t stride, size_t rows, size_t count, const float* factors) {
  const FloatTag d;
  for (size_t r = 0; r < rows; ++r) {
    if (factors[r] == 1.0f) continue;
    const FloatVec by = hn::Set(d, factors[r]);
    float* row = y + r * stride;
    for (size_t i = 0; i < count; i += float_lanes)
      hn::StoreU(hn::Mul(hn::LoadU(d, row + i), by), d, row + i);
  }
}

SplitAttentionKernels split_attention_table() {
  return {&weigh<2>, &pack_values<2>, &scale_rows};
}
SplitAttentionKernels rounded_attention_table() {
  return {&weigh<1>, &pack_values<1>, &scale_rows};
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omnirt::cpu {

HWY_EXPORT(split_attention_table);
HWY_EXPORT(rounded_attention_table);

SplitAttentionKernels split_attention_kernels(size_t parts) {
  return parts == 1 ? HWY_DYNAMIC_DISPATCH(rounded_attention_table)()
                    : HWY_DYNAMIC_DISPATCH(split_attention_table)();
}

}  // namespace omnirt::cpu
#endif
