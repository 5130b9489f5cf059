#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// Rows of frames become rows of places, and back: x {B * outer, inner, D} -> {B * inner, outer, D},
// where y[b * inner + i][o] = x[b * outer + o][i]. So attention over the tokens of each frame turns
// into attention over the frames of each token.
struct SwapRows {
  static constexpr const char* name = "swap_rows";
  static constexpr const char* summary = "rows of frames become rows of places, and back";
  const Tensor& x;
  int64_t outer;
  static Shape shape(const SwapRows& args);
  static Tensor reference(const SwapRows& args);
  static bool fits(const SwapRows& args);
  static Samples<SwapRows> samples();
};

// y = w x + (1 - w) other with w = sigmoid(mix), or 1 - sigmoid(mix) where `switched` (diffusers
// resnet.py AlphaBlender). x and other of one shape, mix {1}.
struct Blend {
  static constexpr const char* name = "blend";
  static constexpr const char* summary = "y = w x + (1 - w) other";
  const Tensor& x;
  const Tensor& other;
  const Tensor& mix;
  bool switched = false;
  static Shape shape(const Blend& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Blend& args);
  static bool fits(const Blend& args);
  static Samples<Blend> samples();
};

}  // namespace omnirt::ops
