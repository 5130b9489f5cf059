#pragma once
#include "nn/layers.hpp"

namespace omnirt::nn {

// What adapters add next to a layer's weight (SideTerm): the sum of scale * up(down(x)), to which
// `residual` is added where it is given. For a layer that has no such terms: an undefined tensor.
// The sum is what the layer takes as its residual, so that it comes before an activation.

// weight {out, in} (or {out, in, 1, 1}); x {..., in} -> {..., out}.
Tensor beside_linear(Context& cx, const Param& weight, const Tensor& x, const Tensor* residual);
// weight {out, in, k, k}; x {B, in, H, W} as the convolution itself reads it: normalised,
// upsampled, padded.
Tensor beside_conv2d(Context& cx, const Param& weight, const ops::Conv2d& args);

}  // namespace omnirt::nn
