#include "networks/autoencoder_kl_qwen_image/blocks.hpp"

#include <cmath>

#include "nn/layout.hpp"

namespace omnirt {
namespace {

// The reference keeps a norm of zero from being divided by; nothing else feels it.
constexpr double least_norm = 1e-24;

std::vector<int64_t> with_ones(int64_t channels, size_t axes) {
  std::vector<int64_t> shape{channels};
  shape.insert(shape.end(), axes, 1);
  return shape;
}

constexpr nn::Conv2dOptions halving{3, 2, {0, 1, 0, 1}, true};

}  // namespace

CausalConv3d::CausalConv3d(Module* parent, const std::string& name, int64_t in, int64_t out,
                           int64_t time, int64_t kernel)
    : Module(parent, name),
      weight(param("weight", {out, in, time, kernel, kernel})),
      bias(param("bias", {out})) {
  own(weight);
  own(bias);
}

Tensor CausalConv3d::forward(Context& cx, const Tensor& x, const Tensor* residual) const {
  const Tensor filter = cx[weight].select(2, weight.shape[2] - 1).contiguous();
  const int64_t around = weight.shape[3] / 2;
  return cx.ops().conv2d(cx, {.x = x,
                              .weight = filter,
                              .bias = cx.maybe(bias),
                              .padding = {around, around, around, around},
                              .residual = residual,
                              .pack = cx.packing(weight)});
}

ChannelRmsNorm::ChannelRmsNorm(Module* parent, const std::string& name, int64_t channels,
                               size_t axes)
    : Module(parent, name), gamma(param("gamma", with_ones(channels, axes))) {
  own(gamma);
}

Tensor ChannelRmsNorm::forward(Context& cx, const Tensor& x) const {
  const Tensor scale = cx[gamma].view({x.size(1)}).to(cx.dtype());
  Tensor normed = cx.ops().rms_norm(cx, {nn::tokens_of(x), scale, least_norm});
  return nn::image_of(normed, x.size(2), x.size(3));
}

Tensor ChannelRmsNorm::activated(Context& cx, const Tensor& x) const {
  return cx.ops().activate(cx, {forward(cx, x), ops::Activation::silu});
}

QwenImageResidualBlock::QwenImageResidualBlock(Module* parent, const std::string& name, int64_t in,
                                               int64_t out)
    : QwenImageVaePart(parent, name),
      norm1(this, "norm1", in, 3),
      conv1(this, "conv1", in, out, 3, 3),
      norm2(this, "norm2", out, 3),
      conv2(this, "conv2", out, out, 3, 3) {
  if (in != out) conv_shortcut.emplace(this, "conv_shortcut", in, out, 1, 1);
}

Tensor QwenImageResidualBlock::forward(Context& cx, const Tensor& x) const {
  return cx.segment(path(), [&] {
    Tensor kept = conv_shortcut ? conv_shortcut->forward(cx, x) : x;
    Tensor h = conv1.forward(cx, norm1.activated(cx, x));
    return conv2.forward(cx, norm2.activated(cx, h), &kept);
  });
}

QwenImageAttentionBlock::QwenImageAttentionBlock(Module* parent, const std::string& name,
                                                 int64_t channels)
    : Module(parent, name),
      norm(this, "norm", channels, 2),
      to_qkv(this, "to_qkv", channels, 3 * channels, nn::conv1x1),
      proj(this, "proj", channels, channels, nn::conv1x1) {}

Tensor QwenImageAttentionBlock::forward(Context& cx, const Tensor& x) const {
  const int64_t channels = x.size(1);
  Tensor all = nn::tokens_of(to_qkv.forward(cx, norm.forward(cx, x)));
  auto part = [&](int64_t i) { return all.narrow(2, i * channels, channels); };
  Tensor query = part(0), key = part(1), value = part(2);
  Tensor y = cx.ops().attention(
      cx, {query, key, value, /*heads=*/1, 1.0 / std::sqrt(static_cast<double>(channels))});
  return proj.forward(cx, nn::image_of(y, x.size(2), x.size(3)), {.residual = &x});
}

QwenImageResample::QwenImageResample(Module* parent, const std::string& name, int64_t channels,
                                     Way way, bool over_time)
    : QwenImageVaePart(parent, name), resample(this, "resample"), way_(way) {
  const bool up = way == Way::up;
  if (up)
    resample.add_at(1, channels, channels / 2);
  else
    resample.add_at(1, channels, channels, halving);
  if (over_time) time_conv.emplace(this, "time_conv", channels, up ? 2 * channels : channels, 3, 1);
}

Tensor QwenImageResample::forward(Context& cx, const Tensor& x) const {
  nn::ConvEpilogue epilogue;
  if (way_ == Way::up) epilogue.upsample_to = {2 * x.size(2), 2 * x.size(3)};
  return resample[0].forward(cx, x, epilogue);
}

QwenImageMidBlock::QwenImageMidBlock(Module* parent, const std::string& name, int64_t channels)
    : Module(parent, name), attentions(this, "attentions"), resnets(this, "resnets") {
  attentions.add(channels);
  for (int i = 0; i < 2; ++i) resnets.add(channels, channels);
}

Tensor QwenImageMidBlock::forward(Context& cx, const Tensor& x) const {
  Tensor h = attentions[0].forward(cx, resnets[0].forward(cx, x));
  return resnets[1].forward(cx, h);
}

QwenImageUpBlock::QwenImageUpBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                                   int64_t count)
    : Module(parent, name), resnets(this, "resnets"), upsamplers(this, "upsamplers") {
  for (int64_t i = 0; i < count; ++i) resnets.add(i == 0 ? in : out, out);
}

Tensor QwenImageUpBlock::forward(Context& cx, Tensor x) const {
  for (size_t i = 0; i < resnets.size(); ++i) x = resnets[i].forward(cx, x);
  return upsamplers.empty() ? x : upsamplers[0].forward(cx, x);
}

QwenImageEncoder3d::QwenImageEncoder3d(Module* parent, const std::string& name,
                                       const AutoencoderKLQwenImageConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.input_channels, config.base_dim, 3, 3),
      down_blocks(this, "down_blocks"),
      mid_block(this, "mid_block", config.channels().back()),
      norm_out(this, "norm_out", config.channels().back(), 3),
      conv_out(this, "conv_out", config.channels().back(), 2 * config.z_dim, 3, 3) {
  const std::vector<int64_t> channels = config.channels();
  int64_t in = config.base_dim;
  for (size_t level = 0; level < channels.size(); ++level) {
    for (int64_t i = 0; i < config.num_res_blocks; ++i) {
      down_blocks.add<QwenImageResidualBlock>(in, channels[level]);
      in = channels[level];
    }
    if (level + 1 < channels.size())
      down_blocks.add<QwenImageResample>(in, QwenImageResample::Way::down,
                                         config.temperal_downsample[level]);
  }
}

Tensor QwenImageEncoder3d::forward(Context& cx, const Tensor& image) const {
  Tensor x = conv_in.forward(cx, image);
  for (size_t i = 0; i < down_blocks.size(); ++i) x = down_blocks[i].forward(cx, x);
  x = mid_block.forward(cx, x);
  return conv_out.forward(cx, norm_out.activated(cx, x));
}

QwenImageDecoder3d::QwenImageDecoder3d(Module* parent, const std::string& name,
                                       const AutoencoderKLQwenImageConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.z_dim, config.channels().back(), 3, 3),
      mid_block(this, "mid_block", config.channels().back()),
      up_blocks(this, "up_blocks"),
      norm_out(this, "norm_out", config.channels().front(), 3),
      conv_out(this, "conv_out", config.channels().front(), config.input_channels, 3, 3) {
  const std::vector<int64_t> channels = config.channels();
  int64_t in = channels.back();
  for (size_t level = channels.size(); level-- > 0;) {
    QwenImageUpBlock& block = up_blocks.add(in, channels[level], config.num_res_blocks + 1);
    if (level == 0) break;
    block.upsamplers.add(channels[level], QwenImageResample::Way::up,
                         config.temperal_downsample[level - 1]);
    in = channels[level] / 2;  // which the upsampler leaves
  }
}

Tensor QwenImageDecoder3d::forward(Context& cx, const Tensor& latents) const {
  Tensor x = mid_block.forward(cx, conv_in.forward(cx, latents));
  for (size_t i = 0; i < up_blocks.size(); ++i) x = up_blocks[i].forward(cx, std::move(x));
  return conv_out.forward(cx, norm_out.activated(cx, x));
}

}  // namespace omnirt
