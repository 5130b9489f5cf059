#pragma once
#include <cstdint>

namespace omnirt::cpu {

// `rows` stretches of `parts` rows side by side ({B T, heads, d}: rows B T, parts heads, width d);
// plain rows are stretches of one part.
struct RmsNormArgs {
  const float* x;       // stretches x_stride floats apart
  const float* weight;  // {width}
  float* y;             // {rows, parts, width}; may be x where x_stride is parts * width
  int64_t rows, parts, width;
  int64_t x_stride;
  double eps;
};

// y = x / sqrt(mean(x^2) + eps) * weight over each row (Zhang & Sennrich 2019, arXiv 1910.07467). A
// NaN or an infinity makes its row NaN or 0 as the formula does. No bit depends on the number of
// threads or rows. Small inputs run on the calling thread.
void rms_norm(const RmsNormArgs& args);

}  // namespace omnirt::cpu
