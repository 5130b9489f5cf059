#include "ops/norm.hpp"

#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>

#include "ops/sizes.hpp"

namespace omnirt::ops {
namespace {

std::optional<Tensor> maybe(const Tensor* tensor) {
  return tensor ? std::optional<Tensor>(*tensor) : std::nullopt;
}

}  // namespace

// Of an image in channels-last order, ATen takes the variance as E[x^2] - E[x]^2, which leaves two
// digits of it where the channels of a group differ little. So images are rows here.
Tensor GroupNorm::reference(const GroupNorm& args) {
  const Tensor rows = args.x.dim() > 2 ? args.x.flatten(2).contiguous() : args.x;
  Tensor y = at::group_norm(rows, args.groups, maybe(args.weight), maybe(args.bias), args.eps);
  y = y.view(args.x.sizes()).contiguous(args.x.suggest_memory_format());
  return activate_in_place(std::move(y), args.activation);
}

Tensor LayerNorm::reference(const LayerNorm& args) {
  return at::layer_norm(args.x, {args.x.size(-1)}, maybe(args.weight), maybe(args.bias), args.eps);
}

Tensor RmsNorm::reference(const RmsNorm& args) {
  Tensor x = args.x.to(at::kFloat);
  Tensor scale = at::rsqrt(at::mean(at::square(x), {-1}, /*keepdim=*/true).add_(args.eps));
  return (x * scale).to(args.x.scalar_type()) * args.weight;
}

Tensor BatchNorm::reference(const BatchNorm& args) {
  Shape by_channels(static_cast<size_t>(args.x.dim()), 1);
  by_channels[1] = args.x.size(1);
  Tensor mean = args.mean.to(at::kFloat).view(by_channels);
  Tensor spread = at::sqrt(args.variance.to(at::kFloat) + args.eps).view(by_channels);
  Tensor x = args.x.to(at::kFloat);
  Tensor y = args.inverse ? x * spread + mean : (x - mean) / spread;
  return y.to(args.x.scalar_type());
}

bool GroupNorm::fits(const GroupNorm& args) {
  return args.x.dim() >= 2 && divides(args.groups, args.x.size(1)) &&
         absent_or_has_sizes(args.weight, {args.x.size(1)}) &&
         absent_or_has_sizes(args.bias, {args.x.size(1)});
}

bool LayerNorm::fits(const LayerNorm& args) {
  return args.x.dim() >= 1 && absent_or_has_sizes(args.weight, {args.x.size(-1)}) &&
         absent_or_has_sizes(args.bias, {args.x.size(-1)});
}

bool RmsNorm::fits(const RmsNorm& args) {
  return args.x.dim() >= 1 && has_sizes(args.weight, {args.x.size(-1)});
}

bool BatchNorm::fits(const BatchNorm& args) {
  return args.x.dim() >= 2 && has_sizes(args.mean, {args.x.size(1)}) &&
         has_sizes(args.variance, {args.x.size(1)});
}

}  // namespace omnirt::ops
