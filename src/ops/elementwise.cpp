#include "ops/elementwise.hpp"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {

Tensor Add::reference(const Add& args) {
  Tensor y = args.x + args.other;
  return args.scale == 1.0 ? y : y.mul_(args.scale);
}

Shape Concat::shape(const Concat& args) {
  ensure(args.x.dim() > 1, "tensors of {} dimensions have no channels", args.x.dim());
  Shape shape = args.x.sizes().vec();
  shape[1] += args.other.size(1);
  return shape;
}

Tensor Concat::reference(const Concat& args) {
  return at::cat({args.x, args.other}, 1);
}

Tensor Modulate::reference(const Modulate& args) {
  return args.x * (1 + args.scale) + args.shift;
}

Tensor Gate::reference(const Gate& args) {
  Tensor y = args.x * args.gate;
  return args.residual ? y.add_(*args.residual) : y;
}

Shape AvgPool2d::shape(const AvgPool2d& args) {
  ensure(args.size > 0, "windows of {} pixels", args.size);
  return {args.x.size(0), args.x.size(1), args.x.size(2) / args.size, args.x.size(3) / args.size};
}

Tensor AvgPool2d::reference(const AvgPool2d& args) {
  return at::avg_pool2d(args.x, {args.size, args.size});
}

Tensor UpsampleNearest::reference(const UpsampleNearest& args) {
  return at::upsample_nearest2d(args.x, {args.height, args.width});
}

Tensor SoftClamp::reference(const SoftClamp& args) {
  return at::tanh(args.x / args.bound) * args.bound;
}

Tensor Affine::reference(const Affine& args) {
  return args.x * args.scale + args.shift;
}

bool Add::fits(const Add& args) {
  return broadcasts_to(args.other, args.x.sizes());
}

bool Concat::fits(const Concat& args) {
  if (args.x.dim() < 2) return false;
  Shape sizes = args.x.sizes().vec();
  sizes[1] = any;
  return has_sizes(args.other, sizes);
}

bool Modulate::fits(const Modulate& args) {
  return broadcasts_to(args.scale, args.x.sizes()) && broadcasts_to(args.shift, args.x.sizes());
}

bool Gate::fits(const Gate& args) {
  return broadcasts_to(args.gate, args.x.sizes()) &&
         absent_or_has_sizes(args.residual, args.x.sizes());
}

bool AvgPool2d::fits(const AvgPool2d& args) {
  return args.x.dim() == 4 && args.size > 0 && args.x.size(2) >= args.size &&
         args.x.size(3) >= args.size;
}

bool UpsampleNearest::fits(const UpsampleNearest& args) {
  return args.x.dim() == 4 && args.height > 0 && args.width > 0;
}

bool SoftClamp::fits(const SoftClamp&) {
  return true;
}

bool Affine::fits(const Affine&) {
  return true;
}

}  // namespace omnirt::ops
