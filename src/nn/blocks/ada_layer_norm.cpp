#include "nn/blocks/ada_layer_norm.hpp"

namespace omnirt::nn {

Tensor modulated_by(Context& cx, const LayerNorm& norm, const Tensor& x, const Modulation& by) {
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, by.scale, by.shift});
}

Tensor through_perceptron(Context& cx, const LayerNorm& norm, const GeluFeedForward& perceptron,
                          const Tensor& x, const Modulation& by) {
  if (cx.site(perceptron.path())) return x;
  Tensor made = perceptron.forward(cx, modulated_by(cx, norm, x, by));
  return cx.ops().gate(cx, {made, by.gate, &x});
}

AdaLayerNormZero::AdaLayerNormZero(Module* parent, const std::string& name, int64_t dim,
                                   int64_t parts, double eps, bool bias)
    : Module(parent, name),
      linear(this, "linear", dim, 3 * parts * dim, bias),
      norm(this, "norm", dim, eps, /*affine=*/false) {}

std::vector<Modulation> AdaLayerNormZero::modulations(Context& cx, const Tensor& activated) const {
  Tensor all = linear.forward(cx, activated).unsqueeze(1);
  int64_t dim = activated.size(1);
  std::vector<Modulation> made;
  for (int64_t from = 0; from < all.size(2); from += 3 * dim) {
    auto part = [&](int64_t i) { return all.narrow(2, from + i * dim, dim); };
    made.push_back({.shift = part(0), .scale = part(1), .gate = part(2)});
  }
  return made;
}

AdaLayerNormContinuous::AdaLayerNormContinuous(Module* parent, const std::string& name, int64_t dim,
                                               double eps)
    : Module(parent, name),
      linear(this, "linear", dim, 2 * dim),
      norm(this, "norm", dim, eps, /*affine=*/false) {}

Tensor AdaLayerNormContinuous::forward(Context& cx, const Tensor& x,
                                       const Tensor& activated) const {
  auto parts = linear.forward(cx, activated).unsqueeze(1).chunk(2, 2);
  return modulated_by(cx, norm, x, {.shift = parts[1], .scale = parts[0], .gate = {}});
}

}  // namespace omnirt::nn
