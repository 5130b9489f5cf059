#include "ops/linear.hpp"

#include <ATen/ops/linear.h>

namespace omnirt::ops {

Shape Linear::shape(const Linear& args) {
  Shape shape = args.x.sizes().vec();
  shape.back() = args.weight.size(0);
  return shape;
}

Tensor Linear::reference(const Linear& args) {
  Tensor y = at::linear(args.x, args.weight.to(args.x.scalar_type()),
                        args.bias ? std::optional<Tensor>(*args.bias) : std::nullopt);
  if (args.residual) y.add_(*args.residual);
  return activate_in_place(std::move(y), args.activation);
}

Shape GatedLinear::shape(const GatedLinear& args) {
  Shape shape = args.x.sizes().vec();
  shape.back() = args.weight.size(0) / 2;
  return shape;
}

Tensor GatedLinear::reference(const GatedLinear& args) {
  Tensor halves = Linear::reference({args.x, args.weight, args.bias});
  return Geglu::reference({halves});
}

}  // namespace omnirt::ops
