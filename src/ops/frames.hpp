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

// y[i] = x[rows[i]] along the first dimension; x has at least one. A run of consecutive rows is a
// view of x.
struct TakeRows {
  static constexpr const char* name = "take_rows";
  static constexpr const char* summary = "rows of a batch, some of them several times";
  const Tensor& x;
  const std::vector<int64_t>& rows;
  static Shape shape(const TakeRows& args);
  static Tensor reference(const TakeRows& args);
  static bool fits(const TakeRows& args);
  static Samples<TakeRows> samples();
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
