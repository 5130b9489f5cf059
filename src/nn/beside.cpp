#include "nn/beside.hpp"

namespace omnirt::nn {
namespace {

// h times the term's scale.
Tensor scaled(Context& cx, const SideTerm& term, const Tensor& h) {
  return term.scale == 1 ? h : cx.ops().affine(cx, {h, term.scale, 0});
}

Tensor matrix(const Tensor& weight) {
  return weight.dim() == 2 ? weight : weight.reshape({weight.size(0), weight.size(1)});
}

}  // namespace

Tensor beside_linear(Context& cx, const Param& weight, const Tensor& x, const Tensor* residual) {
  const std::vector<SideTerm>* terms = cx.beside(weight);
  if (!terms) return {};
  Tensor sum;
  for (const SideTerm& term : *terms) {
    Tensor h = scaled(cx, term, cx.ops().linear(cx, {x, matrix(term.down)}));
    const Tensor* before = sum.defined() ? &sum : residual;
    sum = cx.ops().linear(cx, {h, matrix(term.up), nullptr, ops::Activation::none, before});
  }
  return sum;
}

Tensor beside_conv2d(Context& cx, const Param& weight, const ops::Conv2d& args) {
  const std::vector<SideTerm>* terms = cx.beside(weight);
  if (!terms) return {};
  Tensor sum;
  for (const SideTerm& term : *terms) {
    Tensor h = scaled(cx, term,
                      cx.ops().conv2d(cx, {.x = args.x,
                                           .weight = term.down,
                                           .stride = args.stride,
                                           .padding = args.padding,
                                           .upsample_to = args.upsample_to,
                                           .norm = args.norm}));
    const Tensor* before = sum.defined() ? &sum : args.residual;
    sum = cx.ops().conv2d(cx, {.x = h, .weight = term.up, .residual = before});
  }
  return sum;
}

}  // namespace omnirt::nn
