// Packs rows of weights, as a checkpoint file holds them, into panels [inner][columns] of floats:
// column j of a panel is row j of the weights. By transposes in registers: four 128-bit blocks from
// rows r, r+4, r+8, r+12 make one vector, so that a 4x4 transpose inside the blocks already yields
// whole columns. A Highway per-target header.
#if defined(OMNIRT_CPU_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_PACK_INL_H_
#undef OMNIRT_CPU_PACK_INL_H_
#else
#define OMNIRT_CPU_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/simd/encoded_elements.hpp"
#include "backends/cpu/simd/gemm.hpp"
#include "backends/cpu/simd/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// f16 -> f32 by integer arithmetic, for targets without the instruction: rebias the exponent;
// infinities and NaN get the largest one, subnormals are normalised by a subtraction.
HWY_INLINE FloatVec widen_f16_bits(hn::Vec<hn::RebindToUnsigned<FloatTag>> half) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> du;
  const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(du, 0x7fffu)));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)));
  const auto rebias = hn::Set(du, 112u << 23);
  const auto normal = hn::Add(magnitude, rebias);
  const auto special = hn::Add(normal, rebias);
  const auto smallest = hn::Set(du, 113u << 23);
  const auto subnormal = hn::BitCast(
      du, hn::Sub(hn::BitCast(d, hn::Add(magnitude, smallest)), hn::BitCast(d, smallest)));
  const auto exponent = hn::And(magnitude, hn::Set(du, 0x1fu << 23));
  auto bits = hn::IfThenElse(hn::Eq(exponent, hn::Set(du, 0x1fu << 23)), special, normal);
  bits = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), subnormal, bits);
  return hn::BitCast(d, hn::Or(bits, sign));
}

// A vector of halves from any byte.
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, FloatTag>> load_halves(const uint8_t* from) {
#if HWY_TARGET == HWY_SCALAR
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return hn::Set(hn::Rebind<uint16_t, FloatTag>(), value);
#else
  return hn::LoadU(hn::Rebind<uint16_t, FloatTag>(), reinterpret_cast<const uint16_t*>(from));
#endif
}

template <WeightType type>
HWY_INLINE FloatVec widen(const uint8_t* from) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> du;
  const auto bits = load_halves(from);
  if constexpr (type == WeightType::bf16) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
  } else {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX2
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, FloatTag>(), bits));
#else
    return widen_f16_bits(hn::PromoteTo(du, bits));
#endif
  }
}

template <WeightType type>
HWY_INLINE void widen_halves(const uint8_t* from, size_t count, float* to) {
  const FloatTag d;
  size_t i = 0;
  for (; i + float_lanes <= count; i += float_lanes)
    hn::StoreU(widen<type>(from + 2 * i), d, to + i);
  if (i == count) return;
  uint16_t part[float_lanes] = {};
  float last[float_lanes];
  std::memcpy(part, from + 2 * i, (count - i) * sizeof(uint16_t));
  hn::StoreU(widen<type>(reinterpret_cast<const uint8_t*>(part)), d, last);
  std::memcpy(to + i, last, (count - i) * sizeof(float));
}

// `count` elements at any byte -> floats.
HWY_INLINE void widen_row(WeightType type, const uint8_t* from, size_t count, float* to) {
  switch (type) {
    case WeightType::f32:
      std::memcpy(to, from, count * sizeof(float));
      break;
    case WeightType::f16:
      widen_halves<WeightType::f16>(from, count, to);
      break;
    case WeightType::bf16:
      widen_halves<WeightType::bf16>(from, count, to);
      break;
    case WeightType::encoded:
      break;  // pack_panel reads these
  }
}

// Where inner index i of a run [channel][tap] goes: row tap * channels + channel of the panel.
struct PanelOrder {
  size_t channels, taps;
};

// Goes through the rows of a panel in that order.
template <bool one_tap>
class PanelRows {
 public:
  PanelRows(const PanelOrder& order, float* panel, size_t width)
      : panel_(panel), width_(width), channels_(order.channels), taps_(order.taps) {}

  HWY_INLINE float* next() {
    float* row = panel_ + row_ * width_;
    if constexpr (one_tap) {
      ++row_;
    } else {
      row_ += channels_;
      if (++tap_ == taps_) tap_ = 0, row_ = ++channel_;
    }
    return row;
  }

 private:
  float* panel_;
  size_t width_, channels_, taps_, row_ = 0, channel_ = 0, tap_ = 0;
};

#if HWY_TARGET != HWY_SCALAR
// Floats i to i + 3 of as many rows as d has lanes; block b of the vector is from row 4 b.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* const* rows, size_t i) {
  constexpr size_t lanes = hn::MaxLanes(D());
  if constexpr (lanes <= 4) {
    return hn::LoadU(d, rows[0] + i);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, rows + lanes / 2, i), load_blocks(half, rows, i));
  }
}

// Floats i to i + 3 of the rows -> four vectors, one per index.
HWY_INLINE void transpose_four(const float* const* rows, size_t i, FloatVec* columns) {
  const FloatTag d;
  const hn::RepartitionToWide<FloatTag> dw;
  const auto a = load_blocks(d, rows, i), b = load_blocks(d, rows + 1, i);
  const auto c = load_blocks(d, rows + 2, i), e = load_blocks(d, rows + 3, i);
  const auto ab_low = hn::BitCast(dw, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(dw, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(dw, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(dw, hn::InterleaveUpper(d, c, e));
  columns[0] = hn::BitCast(d, hn::InterleaveLower(dw, ab_low, ce_low));
  columns[1] = hn::BitCast(d, hn::InterleaveUpper(dw, ab_low, ce_low));
  columns[2] = hn::BitCast(d, hn::InterleaveLower(dw, ab_high, ce_high));
  columns[3] = hn::BitCast(d, hn::InterleaveUpper(dw, ab_high, ce_high));
}
#endif

// A vector's rows of `count` floats -> one vector of each panel row. Meanwhile the cache lines
// `ahead` bytes further on, of the rows that come next, are asked for.
template <bool one_tap>
HWY_INLINE void transpose_rows(const float* const* rows, size_t count,
                               [[maybe_unused]] size_t ahead, PanelRows<one_tap> panel) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const FloatTag d;
  for (; i + 4 <= count; i += 4) {
    FloatVec columns[4];
    transpose_four(rows, i, columns);
    hn::StoreU(columns[0], d, panel.next());
    hn::StoreU(columns[1], d, panel.next());
    hn::StoreU(columns[2], d, panel.next());
    hn::StoreU(columns[3], d, panel.next());
    if (ahead > 0) {
      // A line is 16 floats: of each 16, each four steps ask for a quarter of the rows.
      for (size_t r = i % 16 / 4; r < float_lanes; r += 4) {
        __builtin_prefetch(reinterpret_cast<const char*>(rows[r] + i) + ahead, 0, 2);
      }
    }
  }
#endif
  for (; i < count; ++i) {
    float* to = panel.next();
    for (size_t lane = 0; lane < float_lanes; ++lane) to[lane] = rows[lane][i];
  }
}

// True where a dozen rows, this many bytes apart, would compete for one set of the first level
// cache: they are to be copied before they are read side by side.
constexpr bool same_cache_set(size_t stride_bytes) {
  return stride_bytes % 4096 == 0;
}

// Floats from one widened row of `count` to the next, where `unit` more may be widened at each end.
constexpr size_t widened_stride(size_t count, size_t unit) {
  return count + 16 + 2 * unit;
}

// Floats that pack_panel wants of `temporary`.
constexpr size_t pack_temporary(size_t longest) {
  return float_lanes * widened_stride(longest, most_encoded_unit);
}

// Rows [row, row + have) of the weights, from element `first`, for order.channels * order.taps
// elements -> a panel of `width` columns (a whole number of vectors); columns past `have` are zero.
// ask_ahead: the same elements of the following rows come next, and will be waited for.
HWY_INLINE void pack_panel(const WeightView& weight, int64_t row, int64_t have, int64_t first,
                           const PanelOrder& order, size_t width, bool ask_ahead, float* temporary,
                           float* panel) {
  const size_t count = order.channels * order.taps;
  const size_t size = weight.type == WeightType::f32 ? sizeof(float) : sizeof(uint16_t);
  const int64_t stride = weight.row_stride > 0 ? weight.row_stride : weight.columns;
  const EncodedElements* encoded = weight.type == WeightType::encoded ? weight.encoded : nullptr;
  const size_t widened_row = widened_stride(count, encoded ? encoded->unit() : 0);
  const auto* base = static_cast<const uint8_t*>(weight.data);
  const bool in_place = weight.type == WeightType::f32 &&
                        !same_cache_set(static_cast<size_t>(stride) * size) &&
                        reinterpret_cast<uintptr_t>(base) % alignof(float) == 0;
  for (size_t column = 0; column < width; column += float_lanes) {
    const float* rows[float_lanes];
    for (size_t lane = 0; lane < float_lanes; ++lane) {
      const int64_t index = static_cast<int64_t>(column + lane);
      const auto element = static_cast<size_t>((row + index) * stride + first);
      float* widened = temporary + lane * widened_row;
      rows[lane] = widened;
      if (index >= have) {
        std::memset(widened, 0, count * sizeof(float));
      } else if (encoded) {
        rows[lane] = encoded->read(element, count, widened);
      } else if (in_place) {
        rows[lane] = reinterpret_cast<const float*>(base + element * size);
      } else {
        widen_row(weight.type, base + element * size, count, widened);
      }
    }
    const size_t ahead =
        in_place && ask_ahead ? static_cast<size_t>(stride) * float_lanes * size : 0;
    if (order.taps == 1) {
      transpose_rows(rows, count, ahead, PanelRows<true>(order, panel + column, width));
    } else {
      transpose_rows(rows, count, ahead, PanelRows<false>(order, panel + column, width));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
