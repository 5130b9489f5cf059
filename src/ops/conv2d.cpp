#include "ops/conv2d.hpp"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/upsample_nearest2d.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {

Shape Conv2d::shape(const Conv2d& args) {
  ensure(args.stride > 0, "a stride of {}", args.stride);
  bool up = args.upsample_to[0] > 0;
  int64_t height = (up ? args.upsample_to[0] : args.x.size(2)) + args.padding[2] + args.padding[3];
  int64_t width = (up ? args.upsample_to[1] : args.x.size(3)) + args.padding[0] + args.padding[1];
  ensure(height >= args.weight.size(2) && width >= args.weight.size(3),
         "a kernel of {}x{} does not fit a padded image of {}x{}", args.weight.size(2),
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

namespace {

bool norm_fits(const InputNorm& norm, int64_t channels) {
  return divides(norm.groups, channels) && absent_or_has_sizes(norm.weight, {channels}) &&
         absent_or_has_sizes(norm.bias, {channels});
}

bool filter_fits(const Conv2d& args) {
  auto [left, right, top, bottom] = args.padding;
  auto [up_height, up_width] = args.upsample_to;
  const int64_t height = (up_height > 0 ? up_height : args.x.size(2)) + top + bottom;
  const int64_t width = (up_height > 0 ? up_width : args.x.size(3)) + left + right;
  return args.stride > 0 && std::min({left, right, top, bottom}) >= 0 &&
         (up_height > 0) == (up_width > 0) && args.weight.size(2) > 0 && args.weight.size(3) > 0 &&
         height >= args.weight.size(2) && width >= args.weight.size(3);
}

}  // namespace

bool Conv2d::fits(const Conv2d& args) {
  if (args.x.dim() != 4 || !has_sizes(args.weight, {any, args.x.size(1), any, any}) ||
      !filter_fits(args)) {
    return false;
  }
  const int64_t out = args.weight.size(0);
  return absent_or_has_sizes(args.bias, {out}) &&
         absent_or_has_sizes(args.sample_bias, {args.x.size(0), out}) &&
         (!args.residual || has_sizes(*args.residual, shape(args))) &&
         (!args.norm || norm_fits(*args.norm, args.x.size(1)));
}

}  // namespace omnirt::ops
