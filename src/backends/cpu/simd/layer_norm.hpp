#pragma once
#include <cstdint>

namespace omnirt::cpu {

struct LayerNormArgs {
  const float* x;       // {rows, width}, rows x_stride floats apart
  const float* weight;  // {width}, or null
  const float* bias;    // {width}, or null
  float* y;             // {rows, width}, rows y_stride floats apart; may be x
  int64_t rows, width;
  int64_t x_stride, y_stride;
  double eps;
};

// y = (x - mean) / sqrt(variance + eps) * weight + bias over each row (Ba et al. 2016, arXiv
// 1607.06450). Deviations are taken from a rounded mean and corrected, so that a mean 10^4 times
// the deviation costs no digits. A NaN or an infinity makes its whole row NaN. No bit depends on
// the number of threads or rows. Small inputs run on the calling thread.
void layer_norm(const LayerNormArgs& args);

}  // namespace omnirt::cpu
