#include "ops/blur.hpp"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/reflection_pad2d.h>

#include <algorithm>
#include <cmath>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {
namespace {

// The kernel along a side of `side` tokens; its length is odd. Made where it is used: a call that
// is being captured may not wait for values of the host.
Tensor kernel_along(double sigma, int64_t side, at::Device device) {
  constexpr double longest = 1 << 20;
  auto length = static_cast<int64_t>(std::ceil(std::min(6 * sigma, longest)));
  length += 1 - length % 2;
  length = std::min(length, side - (side % 2 - 1));
  double half = static_cast<double>(length - 1) * 0.5;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  Tensor places = at::linspace(-half, half, length, options);
  Tensor weight = (-0.5 * (places / sigma).square()).exp();
  return weight / weight.sum();
}

}  // namespace

Tensor BlurTokens::reference(const BlurTokens& args) {
  ensure(args.x.size(1) == args.height * args.width, "{} tokens for an image of {}x{}",
         args.x.size(1), args.height, args.width);
  if (args.infinite) return args.x.mean(1, /*keepdim=*/true).expand_as(args.x).contiguous();
  Tensor down = kernel_along(args.sigma, args.height, args.x.device()),
         across = kernel_along(args.sigma, args.width, args.x.device());
  Tensor weight = (down.unsqueeze(1) * across.unsqueeze(0)).to(args.x.options());
  int64_t channels = args.x.size(2);
  Tensor image = args.x.transpose(1, 2).reshape({-1, channels, args.height, args.width});
  int64_t top = down.size(0) / 2, left = across.size(0) / 2;
  image = at::reflection_pad2d(image, {left, left, top, top});
  weight = weight.expand({channels, 1, -1, -1}).contiguous();
  Tensor y = at::conv2d(image, weight, {}, at::IntArrayRef{1}, at::IntArrayRef{0},
                        at::IntArrayRef{1}, channels);
  return y.flatten(2).transpose(1, 2).contiguous();
}

bool BlurTokens::fits(const BlurTokens& args) {
  return args.height > 0 && args.width > 0 &&
         has_sizes(args.x, {any, args.height * args.width, any});
}

}  // namespace omnirt::ops
