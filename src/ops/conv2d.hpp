#pragma once
#include <array>

#include "ops/activation.hpp"
#include "ops/norm.hpp"
#include "ops/op.hpp"
#include "ops/packing.hpp"

namespace omnirt::ops {

// What a convolution does to its input first: GroupNorm's fields, over the channels of x.
struct InputNorm {
  const Tensor* weight;
  const Tensor* bias;
  int64_t groups;
  double eps;
  Activation activation = Activation::none;
  GroupNorm of(const Tensor& x) const { return {x, weight, bias, groups, eps, activation}; }
};

// y = act(conv(up(norm(x)), weight) + bias + sample_bias + residual), NCHW in any memory layout.
// A kernel must do all that the arguments say, `norm` and `sample_bias` too, or not accept them.
// x {B, C, H, W}, weight {O, C, kh, kw}, bias {O}; up is nearest-neighbour to `upsample_to` {H',
// W'} when given.
struct Conv2d {
  static constexpr const char* name = "conv2d";
  static constexpr const char* summary =
      "y = act(conv(up(norm(x)), weight) + bias + sample_bias + residual)";
  const Tensor& x;
  const Tensor& weight;
  const Tensor* bias = nullptr;
  int64_t stride = 1;
  // Zeros added {left, right, top, bottom}; the strided convolution of AutoencoderKL's encoder pads
  // one side only.
  std::array<int64_t, 4> padding{0, 0, 0, 0};
  Activation activation = Activation::none;
  const Tensor* residual = nullptr;
  std::array<int64_t, 2> upsample_to{0, 0};
  // {B, O}: a bias of each sample, as a time embedding is.
  const Tensor* sample_bias = nullptr;
  const InputNorm* norm = nullptr;
  // The residual again where no one needs it afterwards: the result may take its memory.
  Tensor* into = nullptr;
  PackSlot* pack = nullptr;  // where kernels keep further forms of the weight; null: nowhere
  static Shape shape(const Conv2d& args);
  static Tensor reference(const Conv2d& args);
  static bool fits(const Conv2d& args);
  static Conv2d with_weight(const Conv2d& args, const Tensor& weight) {
    return {args.x,           weight,          args.bias,     args.stride,
            args.padding,     args.activation, args.residual, args.upsample_to,
            args.sample_bias, args.norm,       args.into,     args.pack};
  }
  static Samples<Conv2d> samples();
};

}  // namespace omnirt::ops
