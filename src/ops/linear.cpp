#include "ops/linear.hpp"

#include <ATen/ops/linear.h>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {

Shape Linear::shape(const Linear& args) {
  ensure(args.x.dim() > 0, "a product wants rows, not a single number");
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
  ensure(args.x.dim() > 0, "a product wants rows, not a single number");
  Shape shape = args.x.sizes().vec();
  shape.back() = args.weight.size(0) / 2;
  return shape;
}

Tensor GatedLinear::reference(const GatedLinear& args) {
  Tensor halves = Linear::reference({args.x, args.weight, args.bias});
  return Geglu::reference({halves});
}

bool Linear::fits(const Linear& args) {
  return args.x.dim() >= 1 && has_sizes(args.weight, {any, args.x.size(-1)}) &&
         absent_or_has_sizes(args.bias, {args.weight.size(0)}) &&
         (!args.residual || has_sizes(*args.residual, shape(args)));
}

bool GatedLinear::fits(const GatedLinear& args) {
  return args.x.dim() >= 1 && has_sizes(args.weight, {any, args.x.size(-1)}) &&
         args.weight.size(0) % 2 == 0 && absent_or_has_sizes(args.bias, {args.weight.size(0)});
}

}  // namespace omnirt::ops
