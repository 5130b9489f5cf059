#include "nn/blocks/glu_mb_conv.hpp"

#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

constexpr double glu_norm_eps = 1e-5;
constexpr Conv2dOptions point_without_bias{1, 1, {0, 0, 0, 0}, false};

}  // namespace

BiasedRmsNorm::BiasedRmsNorm(Module* parent, const std::string& name, int64_t channels, double eps)
    : Module(parent, name),
      weight(param("weight", {channels})),
      bias(param("bias", {channels})),
      eps_(eps) {
  own(weight);
  own(bias);
}

Tensor BiasedRmsNorm::forward(Context& cx, const Tensor& x, const Tensor* residual) const {
  Tensor normed = cx.ops().rms_norm(cx, {tokens_of(x), cx[weight], eps_});
  normed = cx.ops().add(cx, {normed, cx[bias].to(cx.dtype())});
  if (residual) normed = cx.ops().add(cx, {normed, tokens_of(*residual)});
  return image_of(normed, x.size(2), x.size(3));
}

GluMbConv::GluMbConv(Module* parent, const std::string& name, const Options& options)
    : Module(parent, name),
      conv_inverted(this, "conv_inverted", options.channels, 2 * options.hidden, conv1x1),
      conv_depth(
          this, "conv_depth",
          {.in = 2 * options.hidden, .out = 2 * options.hidden, .groups = 2 * options.hidden}),
      conv_point(this, "conv_point", options.hidden, options.channels, point_without_bias) {
  if (options.norm) norm.emplace(this, "norm", options.channels, glu_norm_eps);
}

Tensor GluMbConv::forward(Context& cx, const Tensor& x) const {
  Tensor h = conv_inverted.forward(cx, x, {.activation = ops::Activation::silu});
  h = tokens_of(conv_depth.forward(cx, h));
  const int64_t half = h.size(2) / 2;
  Tensor gate = cx.ops().activate(cx, {h.narrow(2, half, half), ops::Activation::silu});
  h = cx.ops().gate(cx, {h.narrow(2, 0, half), gate});
  h = conv_point.forward(cx, image_of(h, x.size(2), x.size(3)));
  return norm ? norm->forward(cx, h, &x) : h;
}

GroupedConv2d::GroupedConv2d(Module* parent, const std::string& name, const Options& options)
    : Module(parent, name),
      weight(param("weight",
                   {options.out, options.in / options.groups, options.kernel, options.kernel})),
      bias(param("bias", {options.out}, options.bias)),
      groups_(options.groups) {
  own(weight);
  own(bias);
}

Tensor GroupedConv2d::forward(Context& cx, const Tensor& x) const {
  return cx.ops().grouped_conv2d(cx, {x, cx[weight], cx.maybe(bias), groups_});
}

}  // namespace omnirt::nn
