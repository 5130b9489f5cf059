#include "ops/activation.hpp"

#include <ATen/ops/gelu.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {

Activation activation_from_name(const std::string& name, const std::string& field) {
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "quick_gelu") return Activation::quick_gelu;
  if (name == "relu") return Activation::relu;
  throw Unsupported(
      {field, name, "this activation is not implemented",
       "implemented: silu, swish, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu"});
}

Tensor activate(const Tensor& x, Activation kind) {
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::silu:
      return at::silu(x);
    case Activation::gelu:
      return at::gelu(x);
    case Activation::gelu_tanh:
      return at::gelu(x, "tanh");
    case Activation::quick_gelu:
      return x * at::sigmoid(1.702 * x);
    case Activation::relu:
      return at::relu(x);
    case Activation::leaky_relu:
      return at::leaky_relu(x, leaky_slope);
  }
  return x;
}

Tensor activate_in_place(Tensor x, Activation kind) {
  if (kind == Activation::silu) return at::silu_(x);
  if (kind == Activation::relu) return at::relu_(x);
  if (kind == Activation::leaky_relu) return at::leaky_relu_(x, leaky_slope);
  return activate(x, kind);
}

namespace {

Shape half_of(const Tensor& x) {
  ensure(x.dim() > 0, "halves of a single number");
  Shape shape = x.sizes().vec();
  shape.back() /= 2;
  return shape;
}

bool has_halves(const Tensor& x) {
  return x.dim() >= 1 && x.size(-1) % 2 == 0;
}

}  // namespace

Shape Geglu::shape(const Geglu& args) {
  return half_of(args.x);
}

Tensor Geglu::reference(const Geglu& args) {
  ensure(fits(args), "halves of {} values", args.x.size(-1));
  auto halves = args.x.chunk(2, -1);
  return halves[0] * at::gelu(halves[1]);
}

Shape Swiglu::shape(const Swiglu& args) {
  return half_of(args.x);
}

Tensor Swiglu::reference(const Swiglu& args) {
  ensure(fits(args), "halves of {} values", args.x.size(-1));
  auto halves = args.x.chunk(2, -1);
  return at::silu(halves[0]).mul_(halves[1]);
}

bool Activate::fits(const Activate&) {
  return true;
}

bool Geglu::fits(const Geglu& args) {
  return has_halves(args.x);
}

bool Swiglu::fits(const Swiglu& args) {
  return has_halves(args.x);
}

}  // namespace omnirt::ops
