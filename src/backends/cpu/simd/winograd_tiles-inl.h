// Input transform (gathered with padding and upsampling by index) and output transform with the
// epilogue.
#if defined(OMNIRT_CPU_WINOGRAD_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_WINOGRAD_TILES_INL_H_
#undef OMNIRT_CPU_WINOGRAD_TILES_INL_H_
#else
#define OMNIRT_CPU_WINOGRAD_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/simd/integers.hpp"
#include "backends/cpu/simd/math-inl.h"
#include "backends/cpu/simd/winograd_forms-inl.h"
#include "backends/cpu/simd/winograd_input-inl.h"
#include "backends/cpu/simd/winograd_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// The offsets in x of a tile's input patch; -1 where padding is.
template <int points>
HWY_INLINE void patch_offsets(const GatherTask& task, int64_t tile, int64_t* offsets) {
  const WinogradShape& shape = *task.grid->shape;
  const ConvStrides& strides = task.x.strides;
  const TilePlace place(*task.grid, tile);
  const int64_t top = place.row * task.grid->tile - shape.top;
  const int64_t left = place.column * task.grid->tile - shape.left;
  int64_t columns[points];
  for (int i = 0; i < points; ++i)
    columns[i] = source_index(left + i, shape.in_width, shape.up_width);
  for (int r = 0; r < points; ++r) {
    const int64_t row = source_index(top + r, shape.in_height, shape.up_height);
    for (int c = 0; c < points; ++c)
      offsets[r * points + c] =
          row < 0 || columns[c] < 0
              ? -1
              : place.sample * strides.batch + row * strides.row + columns[c] * strides.pixel;
  }
}

// B^T d B of one vector of channels. A patch's vectors whose step is 0 are in the padding.
template <class Form, Reading reading>
HWY_INLINE void transform_input(const float* const* patch, const int64_t* step,
                                const ChannelNorm& norm, float* v, size_t plane_stride) {
  constexpr int points = Form::points;
  const FloatTag d;
  HWY_ALIGN float half[points * points * float_lanes];
#pragma GCC unroll 6
  for (int x = 0; x < points; ++x) {
    FloatVec in[points], out[points];
#pragma GCC unroll 6
    for (int y = 0; y < points; ++y)
      in[y] = read_input<reading>(patch[y * points + x], step[y * points + x], norm);
    Form::input(in, out);
#pragma GCC unroll 6
    for (int y = 0; y < points; ++y) hn::Store(out[y], d, half + (y * points + x) * float_lanes);
  }
#pragma GCC unroll 6
  for (int y = 0; y < points; ++y) {
    FloatVec in[points], out[points];
#pragma GCC unroll 6
    for (int x = 0; x < points; ++x) in[x] = hn::Load(d, half + (y * points + x) * float_lanes);
    Form::input(in, out);
#pragma GCC unroll 6
    for (int x = 0; x < points; ++x) store_point<Form>(out[x], v + (y * points + x) * plane_stride);
  }
}

// The last channels, fewer than a vector: through a copy that zeros fill.
template <class Form, Reading reading>
HWY_NOINLINE void transform_input_edge(const float* const* patch, const int64_t* step,
                                       const ChannelNorm& norm, size_t channels, float* v,
                                       size_t plane_stride) {
  constexpr int count = Form::points * Form::points;
  HWY_ALIGN float copy[count * float_lanes] = {};
  const float* copies[count];
  for (int i = 0; i < count; ++i) {
    copies[i] = copy + i * float_lanes;
    if (step[i] > 0) std::memcpy(copy + i * float_lanes, patch[i], channels * sizeof(float));
  }
  transform_input<Form, reading>(copies, step, norm, v, plane_stride);
}

// Transforms one tile, and fetches the part of the next one's patch that this one does not hold.
template <class Form, Reading reading>
HWY_INLINE void gather_tile(const GatherTask& task, int64_t tile, const int64_t* offsets,
                            const int64_t* next, float* v) {
  constexpr int points = Form::points, count = points * points;
  HWY_ALIGN static constexpr float zeros[float_lanes] = {};
  const int64_t channels = task.grid->shape->in_channels, lanes = float_lanes;
  const SampleNorm<reading> norms(task, tile);
  // In the padding every vector of channels is the same one of zeros.
  const float* patch[count];
  int64_t step[count];
  for (int i = 0; i < count; ++i) {
    patch[i] = offsets[i] < 0 ? zeros : task.x.data + offsets[i];
    step[i] = offsets[i] < 0 ? 0 : lanes;
  }
  for (int64_t first = 0; first < channels; first += task.channel_block) {
    const int64_t end = std::min(first + task.channel_block, channels);
    int64_t c = first;
    for (; c + lanes <= end; c += lanes) {
#pragma GCC unroll 4
      for (int y = 0; y < points; ++y)
        for (int x = points - Form::outputs; x < points; ++x)
          __builtin_prefetch(task.x.data + next[y * points + x] + c);
      transform_input<Form, reading>(patch, step, norms.whole(c),
                                     v + static_cast<size_t>(c - first) / per_slot<Form>,
                                     task.plane_stride);
      for (int i = 0; i < count; ++i) patch[i] += step[i];
    }
    if (c < end)
      transform_input_edge<Form, reading>(patch, step, norms.edge(c, end - c), end - c,
                                          v + static_cast<size_t>(c - first) / per_slot<Form>,
                                          task.plane_stride);
    v += task.block_stride;
  }
}

template <class Form, Reading reading>
void gather_tiles(const GatherTask& task) {
  constexpr int count = Form::points * Form::points;
  int64_t offsets[2][count];
  patch_offsets<Form::points>(task, task.first_tile, offsets[0]);
  for (int64_t t = 0; t < task.tiles; ++t) {
    int64_t* next = offsets[(t + 1) % 2];
    const int64_t last = task.first_tile + task.tiles - 1;
    patch_offsets<Form::points>(task, std::min(task.first_tile + t + 1, last), next);
    gather_tile<Form, reading>(task, task.first_tile + t, offsets[t % 2], next,
                               task.v + static_cast<size_t>(t) * task.row_stride);
  }
}

template <class Form>
void gather(const GatherTask& task) {
  if (!task.x.scale) return gather_tiles<Form, Reading::plain>(task);
  if (task.x.activation == Activation::silu) return gather_tiles<Form, Reading::silu>(task);
  gather_tiles<Form, Reading::scaled>(task);
}

// out = A^T m A of one vector of output channels.
template <class Form>
HWY_INLINE void transform_output(const float* m, size_t plane_stride, FloatVec* out) {
  constexpr int points = Form::points, outputs = Form::outputs;
  const FloatTag d;
  FloatVec half[points][outputs];
#pragma GCC unroll 6
  for (int x = 0; x < points; ++x) {
    FloatVec in[points];
#pragma GCC unroll 6
    for (int y = 0; y < points; ++y) in[y] = hn::LoadU(d, m + (y * points + x) * plane_stride);
    Form::output(in, half[x]);
  }
#pragma GCC unroll 6
  for (int y = 0; y < outputs; ++y) {
    FloatVec in[points];
#pragma GCC unroll 6
    for (int x = 0; x < points; ++x) in[x] = half[x][y];
    Form::output(in, out + y * outputs);
  }
}

// The part of a tile that is in the image, and where it goes.
struct TileOutput {
  float* y;
  const float* residual;  // null: none
  int64_t rows, columns;
};

template <class Form>
HWY_INLINE TileOutput tile_output(const ScatterTask& task, const TilePlace& place) {
  const WinogradShape& shape = *task.grid->shape;
  const int64_t row = place.row * Form::outputs, column = place.column * Form::outputs;
  const auto at = [&](const ConvStrides& strides) {
    return place.sample * strides.batch + row * strides.row + column * strides.pixel +
           task.first_out;
  };
  const ConvEpilogue& epilogue = task.epilogue;
  return {task.y + at(task.y_strides),
          epilogue.residual ? epilogue.residual + at(epilogue.residual_strides) : nullptr,
          std::min<int64_t>(Form::outputs, shape.out_height() - row),
          std::min<int64_t>(Form::outputs, shape.out_width() - column)};
}

HWY_INLINE void store_first(FloatVec value, float* to, size_t count) {
  HWY_ALIGN float copy[float_lanes];
  hn::Store(value, FloatTag(), copy);
  std::memcpy(to, copy, count * sizeof(float));
}

// Apart from the transforms, so that there is one instance of each activation.
template <Activation kind>
HWY_NOINLINE void activate_each(FloatVec* values, int count) {
  for (int i = 0; i < count; ++i) values[i] = activate<kind>(values[i]);
}

HWY_INLINE void activate_all(Activation kind, FloatVec* values, int count) {
  switch (kind) {
    case Activation::none:
      return;
    case Activation::silu:
      return activate_each<Activation::silu>(values, count);
    case Activation::gelu:
      return activate_each<Activation::gelu>(values, count);
    case Activation::gelu_tanh:
      return activate_each<Activation::gelu_tanh>(values, count);
    case Activation::quick_gelu:
      return activate_each<Activation::quick_gelu>(values, count);
    case Activation::relu:
      return activate_each<Activation::relu>(values, count);
    case Activation::leaky_relu:
      return activate_each<Activation::leaky_relu>(values, count);
  }
}

// One vector of output channels of a tile, `count` of them real.
template <class Form, bool whole>
HWY_INLINE void write_tile(const ScatterTask& task, const TileOutput& to, const float* m, size_t o,
                           size_t count) {
  constexpr int outputs = Form::outputs;
  const FloatTag d;
  FloatVec out[outputs * outputs];
  transform_output<Form>(m + o, task.m_plane_stride, out);
  const FloatVec bias = hn::LoadU(d, task.bias + o);
#pragma GCC unroll 16
  for (int i = 0; i < outputs * outputs; ++i) out[i] = hn::Add(out[i], bias);
  if (to.residual) {
    const ConvStrides& strides = task.epilogue.residual_strides;
    for (int64_t r = 0; r < to.rows; ++r)
      for (int64_t c = 0; c < to.columns; ++c) {
        const float* from = to.residual + r * strides.row + c * strides.pixel + o;
        FloatVec& value = out[r * outputs + c];
        value = hn::Add(value, whole ? hn::LoadU(d, from) : load_first(from, count));
      }
  }
  activate_all(task.epilogue.activation, out, outputs * outputs);
  for (int64_t r = 0; r < to.rows; ++r)
    for (int64_t c = 0; c < to.columns; ++c) {
      float* y = to.y + r * task.y_strides.row + c * task.y_strides.pixel + o;
      if constexpr (whole)
        hn::StoreU(out[r * outputs + c], d, y);
      else
        store_first(out[r * outputs + c], y, count);
    }
}

// task.bias = bias + sample_bias of one sample, zeros past the last channel.
HWY_INLINE void sum_bias(const ScatterTask& task, int64_t sample) {
  const ConvEpilogue& epilogue = task.epilogue;
  const size_t panels = (static_cast<size_t>(task.outs) + panel_columns - 1) / panel_columns;
  std::fill_n(task.bias, panels * panel_columns, 0.0f);
  for (int64_t o = 0; o < task.outs; ++o) {
    if (epilogue.bias) task.bias[o] = epilogue.bias[task.first_out + o];
    if (epilogue.sample_bias)
      task.bias[o] +=
          epilogue.sample_bias[sample * epilogue.sample_bias_stride + task.first_out + o];
  }
}

template <class Form>
void scatter(const ScatterTask& task) {
  const size_t outs = static_cast<size_t>(task.outs);
  int64_t sample = -1;
  for (int64_t t = 0; t < task.tiles; ++t) {
    const TilePlace place(*task.grid, task.first_tile + t);
    if (place.sample != sample) sum_bias(task, sample = place.sample);
    const TileOutput to = tile_output<Form>(task, place);
    const float* m = task.m + static_cast<size_t>(t) * task.m_row_stride;
    size_t o = 0;
    for (; o + float_lanes <= outs; o += float_lanes)
      write_tile<Form, true>(task, to, m, o, float_lanes);
    if (o < outs) write_tile<Form, false>(task, to, m, o, outs - o);
  }
}

// Fetches part `step` of `steps` of the memory that scatter() will write and add.
template <class Form>
HWY_INLINE void fetch_outputs(const ScatterTask& task, size_t step, size_t steps) {
  const int64_t rows = task.tiles * Form::outputs;
  const int64_t from = rows * static_cast<int64_t>(step) / static_cast<int64_t>(steps);
  const int64_t to = rows * static_cast<int64_t>(step + 1) / static_cast<int64_t>(steps);
  for (int64_t i = from; i < to; ++i) {
    const TilePlace place(*task.grid, task.first_tile + i / Form::outputs);
    const TileOutput out = tile_output<Form>(task, place);
    const int64_t r = i % Form::outputs;
    if (r >= out.rows) continue;
    for (int64_t c = 0; c < out.columns; ++c) {
      const float* y = out.y + r * task.y_strides.row + c * task.y_strides.pixel;
      for (int64_t o = 0; o < task.outs; o += 16) __builtin_prefetch(y + o, 1, 2);
      if (!out.residual) continue;
      const ConvStrides& strides = task.epilogue.residual_strides;
      const float* residual = out.residual + r * strides.row + c * strides.pixel;
      for (int64_t o = 0; o < task.outs; o += 16) __builtin_prefetch(residual + o, 0, 2);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
