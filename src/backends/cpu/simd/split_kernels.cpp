#include "backends/cpu/simd/split_kernels.hpp"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/split_kernels.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/bf16_vector-inl.h"
#include "backends/cpu/simd/gemm_epilogue-inl.h"
#include "backends/cpu/simd/pack-inl.h"
#include "backends/cpu/simd/split_numbers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// One row, as plain loops: for tests on machines without the unit.
template <size_t parts>
void portable_product(const SplitProduct& p) {
  for (size_t r = 0; r < p.rows; ++r) {
    float* sums = p.sums + r * p.sums_stride;
    if (!p.accumulate) std::fill_n(sums, split_panel, 0.0f);
    const uint16_t* panel = p.panel;
    for (size_t step = 0; step < p.steps; ++step) {
      for (size_t tap = 0; tap < p.tap_count; ++tap, panel += panel_step_values(parts)) {
        const uint16_t* high =
            p.left + parts * step * p.plane + (static_cast<int64_t>(r) + p.taps[tap]) * split_step;
        for (int64_t i = 0; i < split_step; ++i) {
          const float high_x = from_bf16(high[i]);
          const float low_x = parts == 2 ? from_bf16(high[p.plane + i]) : 0.0f;
          for (int64_t n = 0; n < split_panel; ++n) {
            const uint16_t* at = panel + n / 16 * 512 + i / 2 * 32 + n % 16 * 2 + i % 2;
            const float high_w = from_bf16(at[0]);
            sums[n] += high_x * high_w;
            if constexpr (parts == 2) sums[n] += low_x * high_w + high_x * from_bf16(at[1024]);
          }
        }
      }
    }
  }
}

#if OMNIRT_BF16_VECTORS
HWY_INLINE void store_step(FloatVec low, FloatVec high, uint16_t* to) {
  const hn::Repartition<uint16_t, FloatTag> halves;
  hn::StoreU(hn::BitCast(halves, nearest_bf16(low, high)), halves, to);
}
#endif

// by_unit: with the processor's own rounding, for one part.
template <size_t parts, bool by_unit, bool scaled, bool silu>
HWY_INLINE void split_row(const SplitInput& in) {
  const FloatTag d;
  size_t start = 0;
#if OMNIRT_BF16_VECTORS
  if constexpr (by_unit && !scaled) {
    for (; start + split_step <= in.count; start += split_step)
      store_step(hn::LoadU(d, in.x + start), hn::LoadU(d, in.x + start + float_lanes),
                 in.to + start / split_step * in.plane);
  }
#endif
  for (size_t first = start; first < in.count; first += split_step) {
    HWY_ALIGN float values[split_step];
    const size_t count = std::min<size_t>(split_step, in.count - first);
    for (size_t i = 0; i < split_step; i += float_lanes) {
      if (i >= count) {
        hn::Store(hn::Zero(d), d, values + i);
        continue;
      }
      FloatVec x = load_some(in.x + first + i, count - i);
      if constexpr (scaled)
        x = hn::MulAdd(x, load_some(in.scale + first + i, count - i),
                       load_some(in.shift + first + i, count - i));
      if constexpr (silu) x = quick_silu(x);
      hn::Store(x, d, values + i);
    }
    uint16_t* to = in.to + first / split_step * parts * in.plane;
#if OMNIRT_BF16_VECTORS
    if constexpr (by_unit) {
      store_step(hn::Load(d, values), hn::Load(d, values + float_lanes), to);
      continue;
    }
#endif
    if constexpr (parts == 1)
      round_numbers(values, to);
    else
      split_numbers(values, to, to + in.plane);
  }
}

template <size_t parts, bool by_unit>
void split(const SplitInput& in) {
  if (!in.x) {
    const size_t planes = (in.count + split_step - 1) / split_step * parts;
    for (size_t plane = 0; plane < planes; ++plane)
      std::fill_n(in.to + plane * in.plane, split_step, uint16_t{0});
  } else if (!in.scale) {
    split_row<parts, by_unit, false, false>(in);
  } else if (in.silu) {
    split_row<parts, by_unit, true, true>(in);
  } else {
    split_row<parts, by_unit, true, false>(in);
  }
}

template <size_t parts>
void pack_split(const SplitPack& task) {
  const auto channels = static_cast<size_t>(task.channels), taps = static_cast<size_t>(task.taps);
  const PanelOrder order{channels, taps};
  float* panel = task.temporary;
  float* temporary = panel + (channels * taps * split_panel + 15) / 16 * 16;
  pack_panel(task.weight, task.row, task.have, task.channel * task.taps, order, split_panel, false,
             temporary, panel);
  uint16_t* to = task.panel;
  for (size_t first = 0; first < channels; first += split_step) {
    for (size_t tap = 0; tap < taps; ++tap, to += panel_step_values(parts)) {
      const float* rows = panel + (tap * channels + first) * split_panel;
      for (size_t i = 0; i < static_cast<size_t>(split_step); i += 2) {
        const float* even = first + i < channels ? rows + i * split_panel : nullptr;
        const float* odd = first + i + 1 < channels ? rows + (i + 1) * split_panel : nullptr;
        pack_pair<parts>(even, odd, to + i / 2 * 32);
      }
    }
  }
}

template <Activation kind>
HWY_NOINLINE void finish_rows(const SplitFinish& f) {
  for (size_t r = 0; r < f.rows; ++r) {
    const SplitTarget& target = f.targets[r];
    if (!target.y) continue;
    for (size_t c = 0; c < f.columns; c += float_lanes) {
      const size_t count = f.columns - c, column = f.column + c;
      FloatVec value = hn::LoadU(FloatTag(), f.sums + r * f.sums_stride + c);
      if (f.bias) value = hn::Add(value, load_some(f.bias + column, count));
      if (target.extra) value = hn::Add(value, load_some(target.extra + column, count));
      if (target.residual) value = hn::Add(value, load_some(target.residual + column, count));
      store_some(activate<kind>(value), target.y + column, count);
    }
  }
}

HWY_NOINLINE void finish_gated(const SplitFinish& f) {
  for (size_t r = 0; r < f.rows; ++r) {
    const SplitTarget& target = f.targets[r];
    if (!target.y) continue;
    for (size_t c = 0; c < f.columns; c += float_lanes) {
      const size_t count = f.columns - c, column = f.column + c;
      const float* sums = f.sums + r * f.sums_stride + c;
      FloatVec value = hn::LoadU(FloatTag(), sums);
      FloatVec gate = hn::LoadU(FloatTag(), sums + split_panel);
      if (f.bias) {
        value = hn::Add(value, load_some(f.bias + column, count));
        gate = hn::Add(gate, load_some(f.gate_bias + column, count));
      }
      store_some(hn::Mul(value, gelu(gate)), target.y + column, count);
    }
  }
}

void finish_split(const SplitFinish& f) {
  if (f.geglu) return finish_gated(f);
  switch (f.activation) {
    case Activation::none:
      return finish_rows<Activation::none>(f);
    case Activation::silu:
      return finish_rows<Activation::silu>(f);
    case Activation::gelu:
      return finish_rows<Activation::gelu>(f);
    case Activation::gelu_tanh:
      return finish_rows<Activation::gelu_tanh>(f);
    case Activation::quick_gelu:
      return finish_rows<Activation::quick_gelu>(f);
    case Activation::relu:
      return finish_rows<Activation::relu>(f);
    case Activation::leaky_relu:
      return finish_rows<Activation::leaky_relu>(f);
  }
}

template <size_t parts, bool by_unit = false>
SplitKernels table_of() {
  return {parts,
          &portable_product<parts>,
          &split<parts, by_unit>,
          &pack_split<parts>,
          &finish_split,
          [] {},
          [] {}};
}

SplitKernels split_table() {
  return table_of<2>();
}
SplitKernels rounded_table() {
  return table_of<1>();
}
// For machines with AVX512-BF16, except the product.
SplitKernels bf16_table() {
  return table_of<1, OMNIRT_BF16_VECTORS != 0>();
}

size_t pack_room(int64_t channels, int64_t taps) {
  const auto longest = static_cast<size_t>(channels * taps);
  return (longest * split_panel + 15) / 16 * 16 + pack_temporary(longest);
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backends/cpu/simd/amx.hpp"
#include "backends/cpu/simd/bf16_product.hpp"
#include "backends/cpu/simd/split_amx.hpp"
#include "backends/cpu/simd/target.hpp"

namespace omnirt::cpu {

HWY_EXPORT(split_table);
HWY_EXPORT(rounded_table);
HWY_EXPORT(bf16_table);
HWY_EXPORT(pack_room);

size_t split_pack_temporary(int64_t channels, int64_t taps) {
  return HWY_DYNAMIC_DISPATCH(pack_room)(channels, taps);
}

namespace {

void set_product(SplitKernels& table, void (*product)(const SplitProduct&)) {
  table.product = product;
  table.begin = &amx_begin;
  table.end = &amx_end;
}

}  // namespace

SplitKernels split_kernels(bool tiles) {
  SplitKernels table = HWY_DYNAMIC_DISPATCH(split_table)();
  if (tiles) set_product(table, &amx_split_product);
  return table;
}

SplitKernels rounded_kernels(bool by_unit) {
  if (!by_unit) return HWY_DYNAMIC_DISPATCH(rounded_table)();
  SplitKernels table =
      bf16_available() ? HWY_DYNAMIC_DISPATCH(bf16_table)() : HWY_DYNAMIC_DISPATCH(rounded_table)();
  if (bf16_available()) table.pack = &pack_bf16;
  if (amx_features().bf16)
    set_product(table, &amx_rounded_product);
  else
    table.product = &bf16_product;
  return table;
}

}  // namespace omnirt::cpu
#endif
