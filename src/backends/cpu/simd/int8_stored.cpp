// A file's bytes as int8 products take them, laid out where they are multiplied or packed.
#include <algorithm>
#include <array>

#include "backends/cpu/simd/int8_view.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

constexpr auto ones = [] {
  std::array<uint8_t, int8_longest_slice> bytes{};
  bytes.fill(1);
  return bytes;
}();

}  // namespace

int64_t int8_panels(int64_t rows, bool gated) {
  constexpr auto panel = static_cast<int64_t>(int8_panel);
  const int64_t outputs = gated ? rows / 2 : rows;
  return (outputs + panel - 1) / panel * (gated ? 2 : 1);
}

int64_t int8_padded(int64_t inner) {
  constexpr auto step = static_cast<int64_t>(int8_inner_step);
  return (inner + step - 1) / step * step;
}

Int8View int8_file_view(const Int8Matrix& weight, bool gated, const float* columns) {
  Int8View view;
  view.data = weight.data;
  view.scales = columns;
  view.rows = weight.rows;
  view.inner = weight.columns;
  view.padded_inner = int8_padded(weight.columns);
  view.panels = int8_panels(weight.rows, gated);
  view.group = weight.group;
  view.gated = gated;
  return view;
}

Int8PanelRows int8_panel_rows(int64_t rows, bool gated, int64_t panel) {
  const auto outputs = static_cast<size_t>(gated ? rows / 2 : rows);
  const size_t column = static_cast<size_t>(gated ? panel / 2 : panel) * int8_panel;
  const size_t gate = gated && panel % 2 == 1 ? outputs : 0;
  return {gate + column, std::min(int8_panel, outputs - column)};
}

void int8_lay_out_panel(const Int8Kernels& kernels, const Int8View& weight, int64_t panel,
                        size_t from, size_t to, int8_t* bytes, int32_t* sums) {
  ensure(to - from <= int8_longest_slice, "bytes {} to {} of a panel at once", from, to);
  const auto inner = static_cast<size_t>(weight.inner);
  const Int8PanelRows rows = int8_panel_rows(weight.rows, weight.gated, panel);
  kernels.lay_out({weight.data + rows.first * inner + from, inner, rows.count,
                   std::min(inner, to) - std::min(inner, from)},
                  to - from, bytes);
  // The product with a row of ones, which a matrix unit takes as so many equal rows.
  kernels.product(1, ones.data(), 0, bytes, to - from, sums, 0, from > 0);
}

void int8_column_scales(const Int8Matrix& weight, bool gated, float* columns) {
  for (int64_t panel = 0; panel < int8_panels(weight.rows, gated); ++panel) {
    const Int8PanelRows rows = int8_panel_rows(weight.rows, gated, panel);
    float* to = std::copy_n(weight.scales + rows.first, rows.count, columns);
    columns += int8_panel;
    std::fill(to, columns, 0.0f);
  }
}

}  // namespace omnirt::cpu
