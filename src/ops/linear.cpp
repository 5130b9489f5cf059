#include "ops/linear.hpp"

#include <ATen/ops/linear.h>
#include <fmt/ranges.h>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {
namespace {

// Kernels read memory by these sizes: none may be asked about a product whose sizes do not fit.
void check_sizes(const Tensor& x, const Tensor& weight, const Tensor* bias) {
  ensure(x.dim() > 0 && weight.dim() == 2 && x.size(-1) == weight.size(1),
         "rows of {} do not fit a matrix of {}", fmt::join(x.sizes(), " x "),
         fmt::join(weight.sizes(), " x "));
  ensure(!bias || (bias->dim() == 1 && bias->size(0) == weight.size(0)),
         "a bias of {} values for {} columns", bias ? bias->numel() : 0, weight.size(0));
}

}  // namespace

Shape Linear::shape(const Linear& args) {
  check_sizes(args.x, args.weight, args.bias);
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
  check_sizes(args.x, args.weight, args.bias);
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
