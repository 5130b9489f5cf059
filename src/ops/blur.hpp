#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// Tokens of an image of height x width, smoothed over it by a Gaussian of `sigma` tokens: a kernel
// of ceil(6 sigma) tokens, made odd, and along each side no longer than that side (one longer where
// the side is even), over the image reflected at its edges. Each token is the mean of all where
// `sigma` is infinite (smoothed energy guidance, arXiv 2408.00760 and github SusungHong/SEG-SDXL).
// x {B, height * width, C}; y as x.
struct BlurTokens {
  static constexpr const char* name = "blur_tokens";
  static constexpr const char* summary = "tokens of an image, smoothed over it";
  const Tensor& x;
  int64_t height;
  int64_t width;
  double sigma;
  bool infinite = false;
  static Shape shape(const BlurTokens& args) { return args.x.sizes().vec(); }
  static Tensor reference(const BlurTokens& args);
  static bool fits(const BlurTokens& args);
  static Samples<BlurTokens> samples();
};

}  // namespace omnirt::ops
