#pragma once
#include "ops/activation.hpp"
#include "ops/op.hpp"

namespace omnirt::ops {

// y = act(x weight^T + bias + residual). x {..., in}, weight {out, in}, bias {out}, residual and y
// {..., out}.
struct Linear {
  static constexpr const char* name = "linear";
  const Tensor& x;
  const Tensor& weight;
  const Tensor* bias = nullptr;
  Activation activation = Activation::none;
  const Tensor* residual = nullptr;
  static Shape shape(const Linear& args);
  static Tensor reference(const Linear& args);
};

}  // namespace omnirt::ops
