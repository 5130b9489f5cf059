#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/types.hpp"

// What the int8 products are made of, one table for each SIMD target. Internal.
namespace omnirt::cpu {

constexpr size_t int8_panel = 32;       // columns of a panel of packed weights
constexpr size_t int8_inner_step = 64;  // rows are padded to a multiple of this

struct Int8Range {
  float low, high;  // zero included; NaN where the run holds a NaN or an infinity
};

// What a row of activations was rounded with, and where its results go.
struct Int8Row {
  float scale;   // NaN: the row holds a NaN or an infinity
  int32_t zero;  // the value that represents 0
  float* y;
  const float* residual;  // null: none
  const float* extra;     // a bias of its own; null: none
};

// The end of a tile: sums of whole panels -> y.
struct Int8Finish {
  const Int8Row* rows;
  size_t row_count;
  size_t column, columns;  // of y; at most a panel
  const int32_t* sums;     // the gate's follow the value's by a panel
  size_t sums_stride;
  const int32_t* weight_sums;  // these four: a whole panel, two when gated
  const float* weight_scales;
  const float* bias;
  Activation activation;
  bool gated;
};

// A stretch of some rows of a file's matrix of bytes, at most a panel's.
struct Int8Slice {
  const int8_t* rows;
  size_t row_stride, row_count;
  size_t count;  // of each row
};

struct Int8Kernels {
  size_t rows;  // the most of one product call

  // c[r][n] = (accumulate ? c[r][n] : 0) + sum over p < k of a[r][p] * b[p / 4][n][p % 4] for n < a
  // panel, k a multiple of int8_inner_step. Reads and writes up to `rows` rows of a and c, whatever
  // row_count is.
  void (*product)(size_t row_count, const uint8_t* a, size_t a_stride, const int8_t* b, size_t k,
                  int32_t* c, size_t c_stride, bool accumulate);
  Int8Range (*range)(const float* x, size_t count);
  // out = x * inverse + zero, rounded to nearest, clamped to a byte.
  void (*quantize)(const float* x, size_t count, float inverse, int32_t zero, uint8_t* out);
  // to = x rotated in groups of 16, 64 or 256; may be x. The same bits on every target.
  void (*rotate)(const float* x, size_t count, size_t group, float* to);
  void (*finish)(const Int8Finish& task);
  // Rows of a file (any alignment) to float.
  void (*widen)(const void* from, WeightType type, size_t count, float* to);
  // Rounds one row of weights; |x| * inverse is at most 127.
  void (*quantize_weights)(const float* x, size_t count, float inverse, int8_t* out);
  // Rows to columns of a panel [padded / 4][panel][4], with zeros where there is nothing of them;
  // padded is a multiple of int8_inner_step.
  void (*lay_out)(const Int8Slice& slice, size_t padded, int8_t* out);
  // Around the products of one thread; null where not needed.
  void (*begin)();
  void (*end)();
};

// Of the best target that this machine (or the test) allows; `tiles`: with the matrix unit (AMX)
// where there is one.
Int8Kernels int8_kernels(bool tiles = true);

// How a row of this range is rounded; `inverse` is 1 / scale, 0 where the row is all zero or NaN.
struct Int8Scale {
  float scale, inverse;
  int32_t zero;
};
Int8Scale int8_scale(const Int8Range& range);

}  // namespace omnirt::cpu
