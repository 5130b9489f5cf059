#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/gemm.hpp"

// What products of split numbers are made of, one table for each SIMD target. Internal.
//
// A number is split into a high and a low bf16 part; x = high + low to 2^-17 of x. A product of two
// is high*high + high*low + low*high: three products of bf16 with sums in fp32. Kernels of one part
// have the high parts alone: numbers rounded to bf16, one product.
namespace omnirt::cpu {

constexpr int64_t split_step = 32;   // inner indices of one step
constexpr int64_t split_rows = 32;   // rows of one product
constexpr int64_t split_panel = 32;  // columns of one product
// Values of one step (and tap) of a packed panel: {high, low} x {first, second 16 columns} tiles of
// 16 pairs of inner indices by 16 columns.
constexpr size_t panel_step_values(size_t parts) {
  return parts * static_cast<size_t>(split_step * split_panel);
}
constexpr size_t split_panel_step = panel_step_values(2);

// sums[r][n] (+)= sum over steps and taps of left[step][row r + tap][i] * panel[step][tap][i][n].
// The left side is in planes [step][part][row][split_step]. Reads and writes split_rows rows (16
// where `rows` is no more) of split_panel columns.
struct SplitProduct {
  size_t rows;
  const uint16_t* left;  // the first row's highs of the first step
  size_t plane;          // values of one plane
  const int64_t* taps;   // rows added for each tap
  size_t tap_count;
  size_t steps;
  const uint16_t* panel;
  float* sums;
  size_t sums_stride;
  bool accumulate;
};

// One row of the left side: act(x * scale + shift), zeros for x null and past `count`.
struct SplitInput {
  const float* x;
  size_t count;
  const float* scale;  // null: x as it is
  const float* shift;
  bool silu;
  uint16_t* to;  // the row's highs of the first step
  size_t plane;
};

// Rows [row, row + have) of weights [row][channel][tap], channels [channel, channel + channels).
struct SplitPack {
  WeightView weight;
  int64_t row, have;
  int64_t channel, channels, taps;
  float* temporary;  // split_pack_temporary floats
  uint16_t* panel;   // [step][tap][panel_step_values]
};

// Where a row's results go.
struct SplitTarget {
  float* y;               // null: nowhere
  const float* residual;  // null: none
  const float* extra;     // a bias of its own; null: none
};

// The end of a product: sums of a panel -> y.
struct SplitFinish {
  const SplitTarget* targets;
  size_t rows;
  size_t column, columns;  // of y; at most a panel
  const float* sums;       // the gate's follow the value's by a panel
  size_t sums_stride;
  const float* bias;       // null: none
  const float* gate_bias;  // the gate's, with geglu
  Activation activation;
  bool geglu;
};

struct SplitKernels {
  size_t parts = 2;
  void (*product)(const SplitProduct&);
  void (*split)(const SplitInput&);
  void (*pack)(const SplitPack&);
  void (*finish)(const SplitFinish&);
  // Around the products of one thread.
  void (*begin)();
  void (*end)();
};

size_t split_pack_temporary(int64_t channels, int64_t taps);

// Of the best target that this machine (or the test) allows; `tiles`: products on the matrix unit,
// which must be there (split_available); else a slow portable product, for tests.
SplitKernels split_kernels(bool tiles);
// The same of one part: by the processor's products of bf16 (rounded_available), or portable.
SplitKernels rounded_kernels(bool by_unit);

}  // namespace omnirt::cpu
