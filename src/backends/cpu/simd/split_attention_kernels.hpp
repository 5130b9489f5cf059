#pragma once
#include <cstddef>
#include <cstdint>

// What attention by split products does between its two products. Internal.
namespace omnirt::cpu {

// Scores [row][key] to base 2 become weights 2^(score - highest), split, in planes [step][part]
// [row][32 keys]; `highest` and `total` of each row take these keys in, and `decay` is what earlier
// results are to be multiplied by.
struct SplitWeigh {
  const float* scores;
  size_t stride;
  size_t rows, keys;
  bool first;  // no earlier results
  float *highest, *total, *decay;
  uint16_t* weights;
  size_t plane;
};

// Rows [0, keys) of values {keys, dims} -> a panel of 32 columns from `column`: [step of 32
// keys][panel_step_values]; what is past keys and dims is zero.
struct SplitValues {
  const float* values;
  int64_t stride, keys, dims, column;
  uint16_t* panel;
};

struct SplitAttentionKernels {
  void (*weigh)(const SplitWeigh&);
  void (*pack_values)(const SplitValues&);
  // y[r][0 .. count) *= factors[r].
  void (*scale_rows)(float* y, size_t stride, size_t rows, size_t count, const float* factors);
};

// Of the best target that this machine (or the test) allows, for numbers of this many parts.
SplitAttentionKernels split_attention_kernels(size_t parts);

}  // namespace omnirt::cpu
