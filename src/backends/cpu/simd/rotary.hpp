#pragma once
#include <cstdint>

#include "backends/cpu/simd/attention.hpp"

namespace omnirt::cpu {

struct RotaryArgs {
  TokenView<const float> x;  // {batch, tokens, heads, head_dim}
  TokenView<float> y;        // the same; may be x
  const float* cosines;      // {tokens, head_dim / 2}
  const float* sines;
  int64_t batch, tokens, heads, head_dim;
  // Whether values i and i + head_dim / 2 are a pair, or 2 i and 2 i + 1.
  bool halves;
};

// Pairs (a, b) become (a cos - b sin, b cos + a sin) (Su et al. 2021, arXiv 2104.09864). No bit
// depends on the number of threads or samples. Small inputs run on the calling thread.
void rotary(const RotaryArgs& args);

}  // namespace omnirt::cpu
