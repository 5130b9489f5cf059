#include "ops/linear.hpp"

#include <ATen/ops/linear.h>

namespace omnirt::ops {

Shape Linear::shape(const Linear& args) {
  Shape shape = args.x.sizes().vec();
  shape.back() = args.weight.size(0);
  return shape;
}

Tensor Linear::reference(const Linear& args) {
  Tensor y =
      at::linear(args.x, args.weight, args.bias ? std::optional<Tensor>(*args.bias) : std::nullopt);
  if (args.residual) y.add_(*args.residual);
  return activate_in_place(std::move(y), args.activation);
}

}  // namespace omnirt::ops
