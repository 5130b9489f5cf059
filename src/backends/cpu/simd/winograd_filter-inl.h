// Filter transform: from the file's [o][i][3][3] rows (any type) to panels of G g G^T.
#if defined(OMNIRT_CPU_WINOGRAD_FILTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_WINOGRAD_FILTER_INL_H_
#undef OMNIRT_CPU_WINOGRAD_FILTER_INL_H_
#else
#define OMNIRT_CPU_WINOGRAD_FILTER_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/simd/encoded_elements.hpp"
#include "backends/cpu/simd/winograd_forms-inl.h"
#include "backends/cpu/simd/winograd_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

constexpr size_t filter_taps = 9;
// Four filters are 36 numbers: nine blocks of four, which transpose without a remainder.
constexpr size_t filter_group = 4;
constexpr size_t filter_run = filter_group * filter_taps;

#if HWY_TARGET == HWY_SCALAR
// One row at a time: nothing to transpose.
template <class T>
struct FilterSource {
  using Type = T;
  static void run(const uint8_t* rows, size_t, float* taps) {
    const hn::CappedTag<T, 1> d;
    const hn::CappedTag<uint16_t, 1> bits;
    for (size_t t = 0; t < filter_run; ++t, rows += sizeof(T)) {
      if constexpr (sizeof(T) == sizeof(float)) {
        std::memcpy(taps + t, rows, sizeof(T));
      } else {
        uint16_t half;
        std::memcpy(&half, rows, sizeof(half));
        taps[t] = hn::GetLane(hn::PromoteTo(FloatTag(), hn::BitCast(d, hn::Set(bits, half))));
      }
    }
  }
};
#else
// Vectors whose 128-bit block q holds the four numbers at `rows + 4 * q * stride`.
template <class T, class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const uint8_t* rows, size_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, reinterpret_cast<const T*>(rows));
  } else {
    const hn::Half<D> half;
    const size_t upper = hn::MaxLanes(half) * stride;
    return hn::Combine(d, load_blocks<T>(half, rows + upper, stride),
                       load_blocks<T>(half, rows, stride));
  }
}

// taps[t][lane] = number t of row `lane`: 4x4 transposes within the blocks.
template <class T>
struct FilterSource {
  using Type = T;

  // Two-byte types are put together first and widened as one vector.
  static HWY_INLINE FloatVec load(const uint8_t* rows, size_t stride) {
    if constexpr (sizeof(T) == sizeof(float)) {
      return load_blocks<float>(FloatTag(), rows, stride);
    } else {
      const hn::Rebind<uint16_t, FloatTag> bits;
      const hn::Rebind<T, FloatTag> halves;
      return hn::PromoteTo(FloatTag(),
                           hn::BitCast(halves, load_blocks<uint16_t>(bits, rows, stride)));
    }
  }

  static HWY_INLINE void four(const uint8_t* rows, size_t stride, float* out) {
    const FloatTag d;
    const hn::Repartition<double, FloatTag> pairs;
    const FloatVec a = load(rows, stride), b = load(rows + stride, stride);
    const FloatVec c = load(rows + 2 * stride, stride), e = load(rows + 3 * stride, stride);
    const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
    const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
    const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, out);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, out + float_lanes);
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d,
              out + 2 * float_lanes);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d,
              out + 3 * float_lanes);
  }

  static HWY_INLINE void run(const uint8_t* rows, size_t stride, float* taps) {
    for (size_t t = 0; t < filter_run; t += 4)
      four(rows + t * sizeof(T), stride, taps + t * float_lanes);
  }
};
#endif

// Where fewer rows or filters are left than a run holds: through a block that zeros fill.
template <class Source>
HWY_NOINLINE void transpose_edge(const uint8_t* rows, size_t stride, size_t row_count,
                                 size_t filters, float* taps) {
  using T = typename Source::Type;
  HWY_ALIGN T block[float_lanes * filter_run];
  std::memset(static_cast<void*>(block), 0, sizeof(block));
  for (size_t row = 0; row < row_count; ++row)
    std::memcpy(static_cast<void*>(block + row * filter_run), rows + row * stride,
                filters * filter_taps * sizeof(T));
  Source::run(reinterpret_cast<const uint8_t*>(block), filter_run * sizeof(T), taps);
}

// One input channel: nine vectors of taps to points^2 vectors, which put(point, vector) takes.
template <class Form, class Put>
HWY_INLINE void transform_taps(const float* taps, const Put& put) {
  constexpr int points = Form::points;
  const FloatTag d;
  FloatVec columns[3][points];
#pragma GCC unroll 3
  for (int x = 0; x < 3; ++x) {
    const FloatVec g[3] = {hn::Load(d, taps + x * float_lanes),
                           hn::Load(d, taps + (3 + x) * float_lanes),
                           hn::Load(d, taps + (6 + x) * float_lanes)};
    Form::filter(g, columns[x]);
  }
#pragma GCC unroll 6
  for (int y = 0; y < points; ++y) {
    const FloatVec g[3] = {columns[0][y], columns[1][y], columns[2][y]};
    FloatVec out[points];
    Form::filter(g, out);
#pragma GCC unroll 6
    for (int x = 0; x < points; ++x) put(y * points + x, out[x]);
  }
}

template <class Form>
HWY_INLINE void transform_filter(const float* taps, float* u, size_t plane_stride) {
  transform_taps<Form>(taps, [&](int point, FloatVec value) HWY_ATTR {
    hn::Store(value, FloatTag(), u + static_cast<size_t>(point) * plane_stride);
  });
}

#if OMNIRT_BF16_VECTORS
// Two input channels (the second one's taps null: zeros), in pairs.
template <class Form>
HWY_INLINE void transform_filter_pair(const float* even, const float* odd, float* u,
                                      size_t plane_stride) {
  constexpr int count = Form::points * Form::points;
  const FloatTag d;
  HWY_ALIGN float points[count * float_lanes];
  transform_taps<Form>(even, [&](int point, FloatVec value)
                                 HWY_ATTR { hn::Store(value, d, points + point * float_lanes); });
  const auto put = [&](int point, FloatVec value) HWY_ATTR {
    const FloatVec first = hn::Load(d, points + point * float_lanes);
    hn::Store(nearest_pairs(first, value), PairsTag(),
              reinterpret_cast<uint32_t*>(u + static_cast<size_t>(point) * plane_stride));
  };
  if (odd) return transform_taps<Form>(odd, put);
  for (int point = 0; point < count; ++point) put(point, hn::Zero(d));
}
#endif

// The filters of one vector of output channels, for channels [first, first + count) of the task;
// `rows` is where the first is.
template <class Form, class Source>
HWY_INLINE void filter_channels(const FilterTask& task, const uint8_t* rows, size_t stride,
                                int64_t half, int64_t first, int64_t count) {
  using T = typename Source::Type;
  const int64_t lanes = float_lanes;
  const int64_t outs = std::clamp<int64_t>(task.outs - half * lanes, 0, lanes);
  HWY_ALIGN float taps[filter_run * float_lanes];
  for (int64_t i = 0; i < count; i += filter_group) {
    const int64_t filters = std::min<int64_t>(filter_group, count - i);
    const uint8_t* run = rows + static_cast<size_t>(i) * filter_taps * sizeof(T);
    if (outs == lanes && filters == filter_group)
      Source::run(run, stride, taps);
    else
      transpose_edge<Source>(run, stride, outs, filters, taps);
    float* const to = task.u + half * lanes;
    const int64_t channel = first + i;
#if OMNIRT_BF16_VECTORS
    if constexpr (Form::rounded) {  // `first` is even
      for (int64_t f = 0; f < filters; f += 2) {
        const float* even = taps + f * filter_taps * float_lanes;
        transform_filter_pair<Form>(even,
                                    f + 1 < filters ? even + filter_taps * float_lanes : nullptr,
                                    to + (channel + f) / 2 * panel_columns, task.plane_stride);
      }
      continue;
    }
#endif
    for (int64_t f = 0; f < filters; ++f)
      transform_filter<Form>(taps + f * filter_taps * float_lanes,
                             to + (channel + f) * panel_columns, task.plane_stride);
  }
}

template <class Form, class Source>
HWY_NOINLINE void filter_panel(const FilterTask& task) {
  using T = typename Source::Type;
  const size_t stride = static_cast<size_t>(task.in_channels) * filter_taps * sizeof(T);
  for (int64_t half = 0; half < 2; ++half) {
    const int64_t before = half * static_cast<int64_t>(float_lanes);
    const auto out = static_cast<size_t>(task.outs > before ? task.first_out + before : 0);
    const uint8_t* rows = static_cast<const uint8_t*>(task.weights.data) + out * stride +
                          static_cast<size_t>(task.first_channel) * filter_taps * sizeof(T);
    filter_channels<Form, Source>(task, rows, stride, half, 0, task.channels);
  }
}

// Encoded ones are widened a few channels at a time, to rows that are read as fp32 ones are.
constexpr int64_t widened_channels = 56;
constexpr size_t widened_filters = widened_channels * filter_taps + 2 * most_encoded_unit;

template <class Form>
HWY_NOINLINE void encoded_filter_panel(const FilterTask& task) {
  constexpr size_t row_floats = widened_channels * filter_taps;
  HWY_ALIGN float rows[float_lanes * row_floats];
  HWY_ALIGN float widened[widened_filters];
  for (int64_t half = 0; half < 2; ++half) {
    const int64_t lanes = float_lanes, before = half * lanes;
    const int64_t outs = std::clamp<int64_t>(task.outs - before, 0, lanes);
    for (int64_t first = 0; first < task.channels; first += widened_channels) {
      const int64_t count = std::min(widened_channels, task.channels - first);
      for (int64_t out = 0; out < outs; ++out) {
        const int64_t filter =
            (task.first_out + before + out) * task.in_channels + task.first_channel + first;
        const auto floats = static_cast<size_t>(count) * filter_taps;
        const float* from =
            task.weights.encoded->read(static_cast<size_t>(filter) * filter_taps, floats, widened);
        std::copy_n(from, floats, rows + static_cast<size_t>(out) * row_floats);
      }
      filter_channels<Form, FilterSource<float>>(task, reinterpret_cast<const uint8_t*>(rows),
                                                 row_floats * sizeof(float), half, first, count);
    }
  }
}

template <class Form>
void filter(const FilterTask& task) {
  switch (task.weights.type) {
    case WeightType::f32:
      return filter_panel<Form, FilterSource<float>>(task);
    case WeightType::f16:
      return filter_panel<Form, FilterSource<hwy::float16_t>>(task);
    case WeightType::bf16:
      return filter_panel<Form, FilterSource<hwy::bfloat16_t>>(task);
    case WeightType::encoded:
      return encoded_filter_panel<Form>(task);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
