#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/winograd_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/simd/winograd_filter-inl.h"
#include "backends/cpu/simd/winograd_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// Fetches part `step` of `steps` towards the second-level cache.
HWY_INLINE void fetch_rows(const AheadRows& ahead, size_t step, size_t steps) {
  constexpr size_t line = 64;
  const size_t row_lines = (ahead.bytes + line - 1) / line, lines = ahead.rows * row_lines;
  for (size_t i = lines * step / steps; i < lines * (step + 1) / steps; ++i)
    __builtin_prefetch(ahead.first + i / row_lines * ahead.stride + i % row_lines * line, 0, 2);
}

template <class Form>
struct FormProduct : PlainProduct {};
#if OMNIRT_BF16_VECTORS
template <class Form>
struct FormProduct<Rounded<Form>> : PairsProduct {};
#endif

template <class Form>
void product(const ProductTask& task) {
  constexpr size_t points = Form::points * Form::points, most = micro_max_rows(2);
  const size_t tiles = static_cast<size_t>(task.tiles);
  const size_t steps = points * ((tiles + most - 1) / most);
  size_t step = 0;
  for (size_t point = 0; point < points; ++point) {
    const float* v = task.v + point * task.v_plane_stride;
    const float* u = task.u + point * task.u_plane_stride;
    float* m = task.m + point * task.m_plane_stride;
    for_row_blocks(tiles, most, [&](size_t first, size_t rows) HWY_ATTR {
      if (task.next_filters.rows > 0) fetch_rows(task.next_filters, step, steps);
      if (task.next_outputs) fetch_outputs<Form>(*task.next_outputs, step, steps);
      ++step;
      for (int64_t panel = 0; panel < task.panels; ++panel)
        micro_product<2, FormProduct<Form>>(
            rows, v + first * task.v_row_stride, task.v_row_stride, u + panel * task.u_panel_stride,
            panel_columns,
            (static_cast<size_t>(task.channels) + per_slot<Form> - 1) / per_slot<Form>,
            m + first * task.m_row_stride + panel * panel_columns, task.m_row_stride,
            task.accumulate);
    });
  }
}

template <class Form>
WinogradKernels table() {
  return {panel_columns, per_slot<Form>, micro_max_rows(2), &gather<Form>,
          &filter<Form>, &product<Form>, &scatter<Form>};
}

WinogradKernels kernels(ConvChoice form) {
#if OMNIRT_BF16_VECTORS
  if (form == ConvChoice::winograd2_bf16) return table<Rounded<FormF2>>();
  if (form == ConvChoice::winograd4_bf16) return table<Rounded<FormF4>>();
#endif
  const bool small = form == ConvChoice::winograd2 || form == ConvChoice::winograd2_bf16;
  return small ? table<FormF2>() : table<FormF4>();
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backends/cpu/simd/bf16_product.hpp"

namespace omnirt::cpu {

HWY_EXPORT(kernels);

WinogradKernels winograd_kernels(ConvChoice form) {
  if (!bf16_available() && form == ConvChoice::winograd4_bf16) form = ConvChoice::winograd4;
  if (!bf16_available() && form == ConvChoice::winograd2_bf16) form = ConvChoice::winograd2;
  return HWY_DYNAMIC_DISPATCH(kernels)(form);
}

}  // namespace omnirt::cpu
#endif
