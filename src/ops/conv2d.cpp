#include "ops/conv2d.hpp"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "base/ensure.hpp"

namespace omnirt::ops {

Shape Conv2d::shape(const Conv2d& args) {
  bool up = args.upsample_to[0] > 0;
  int64_t height = (up ? args.upsample_to[0] : args.x.size(2)) + args.padding[2] + args.padding[3];
  int64_t width = (up ? args.upsample_to[1] : args.x.size(3)) + args.padding[0] + args.padding[1];
  ensure(height >= args.weight.size(2) && width >= args.weight.size(3),
         "a kernel of {}x{} does not fit a padded picture of {}x{}", args.weight.size(2),
         args.weight.size(3), height, width);
  return {args.x.size(0), args.weight.size(0), (height - args.weight.size(2)) / args.stride + 1,
          (width - args.weight.size(3)) / args.stride + 1};
}

Tensor Conv2d::reference(const Conv2d& args) {
  Tensor x = args.norm ? GroupNorm::reference(args.norm->of(args.x)) : args.x;
  if (args.upsample_to[0] > 0) x = at::upsample_nearest2d(x, args.upsample_to);
  auto [left, right, top, bottom] = args.padding;
  bool even = left == right && top == bottom;
  if (!even) x = at::constant_pad_nd(x, args.padding);
  std::array<int64_t, 2> padding{even ? top : 0, even ? left : 0};
  auto bias = args.bias ? std::optional<Tensor>(*args.bias) : std::nullopt;
  Tensor y =
      at::conv2d(x, args.weight.to(x.scalar_type()), bias, {args.stride, args.stride}, padding);
  if (args.sample_bias) y.add_(args.sample_bias->unsqueeze(-1).unsqueeze(-1));
  if (args.residual) y.add_(*args.residual);
  return activate_in_place(std::move(y), args.activation);
}

}  // namespace omnirt::ops
