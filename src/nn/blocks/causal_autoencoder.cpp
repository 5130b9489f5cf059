#include "nn/blocks/causal_autoencoder.hpp"

#include <cmath>

#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

// The reference keeps a norm of zero from being divided by; nothing else feels it.
constexpr double least_norm = 1e-24;

std::vector<int64_t> with_ones(int64_t channels, size_t axes) {
  std::vector<int64_t> shape{channels};
  shape.insert(shape.end(), axes, 1);
  return shape;
}

std::vector<int64_t> filter_shape(int64_t out, int64_t in, int64_t time, int64_t kernel) {
  if (time == 0) return {out, in, kernel, kernel};
  return {out, in, time, kernel, kernel};
}

// Frames of a filter that reads `count` where files have any.
int64_t frames_of(FilterFrames kept, int64_t count) {
  return kept == FilterFrames::all ? count : 0;
}

constexpr Conv2dOptions half_size{3, 2, {0, 1, 0, 1}, true};

}  // namespace

CausalConv3d::CausalConv3d(Module* parent, const std::string& name, int64_t in, int64_t out,
                           int64_t time, int64_t kernel)
    : Module(parent, name),
      weight(param("weight", filter_shape(out, in, time, kernel))),
      bias(param("bias", {out})) {
  own(weight);
  own(bias);
}

Tensor CausalConv3d::forward(Context& cx, const Tensor& x, FrameState* state,
                             const Tensor* residual) const {
  const int64_t around = weight.shape.back() / 2;
  if (weight.shape.size() == 4) {
    return cx.ops().conv2d(cx, {.x = x,
                                .weight = cx[weight],
                                .bias = cx.maybe(bias),
                                .padding = {around, around, around, around},
                                .residual = residual,
                                .pack = cx.packing(weight)});
  }
  const int64_t read_before = weight.shape[2] - 1;
  const Tensor* past = state ? state->past(path()) : nullptr;
  Tensor y = cx.ops().causal_conv3d(cx, {.x = x,
                                         .weight = cx[weight],
                                         .bias = cx.maybe(bias),
                                         .frames = state ? x.size(0) : 1,
                                         .zeros = read_before - (past ? past->size(0) : 0),
                                         .past = past,
                                         .padding = {around, around, around, around},
                                         .residual = residual,
                                         .pack = cx.packing(weight)});
  if (state && read_before > 0)
    state->keep(path(), cx.ops().last_frames(cx, {x, past, read_before}));
  return y;
}

Tensor CausalConv3d::halved(Context& cx, const Tensor& x, FrameState& state) const {
  const Tensor* past = state.past(path());
  state.keep(path(), cx.ops().last_frames(cx, {.x = x}));
  if (!past) return x;
  return cx.ops().causal_conv3d(cx, {.x = x,
                                     .weight = cx[weight],
                                     .bias = cx.maybe(bias),
                                     .frames = x.size(0),
                                     .past = past,
                                     .time_stride = 2,
                                     .pack = cx.packing(weight)});
}

ChannelRmsNorm::ChannelRmsNorm(Module* parent, const std::string& name, int64_t channels,
                               size_t axes)
    : Module(parent, name), gamma(param("gamma", with_ones(channels, axes))) {
  own(gamma);
}

Tensor ChannelRmsNorm::forward(Context& cx, const Tensor& x) const {
  const Tensor scale = cx[gamma].view({x.size(1)}).to(cx.dtype());
  Tensor normed = cx.ops().rms_norm(cx, {tokens_of(x), scale, least_norm});
  return image_of(normed, x.size(2), x.size(3));
}

Tensor ChannelRmsNorm::activated(Context& cx, const Tensor& x) const {
  return cx.ops().activate(cx, {forward(cx, x), ops::Activation::silu});
}

CausalResnet::CausalResnet(Module* parent, const std::string& name, int64_t in, int64_t out,
                           FilterFrames frames)
    : CausalPart(parent, name),
      norm1(this, "norm1", in, 3),
      conv1(this, "conv1", in, out, frames_of(frames, 3), 3),
      norm2(this, "norm2", out, 3),
      conv2(this, "conv2", out, out, frames_of(frames, 3), 3) {
  if (in != out) conv_shortcut.emplace(this, "conv_shortcut", in, out, frames_of(frames, 1), 1);
}

Tensor CausalResnet::forward(Context& cx, const Tensor& x, FrameState* state) const {
  return cx.segment(path(), [&] {
    Tensor kept = conv_shortcut ? conv_shortcut->forward(cx, x, state) : x;
    Tensor h = conv1.forward(cx, norm1.activated(cx, x), state);
    return conv2.forward(cx, norm2.activated(cx, h), state, &kept);
  });
}

FrameAttention::FrameAttention(Module* parent, const std::string& name, int64_t channels)
    : Module(parent, name),
      norm(this, "norm", channels, 2),
      to_qkv(this, "to_qkv", channels, 3 * channels, conv1x1),
      proj(this, "proj", channels, channels, conv1x1) {}

Tensor FrameAttention::forward(Context& cx, const Tensor& x) const {
  const int64_t channels = x.size(1);
  Tensor all = tokens_of(to_qkv.forward(cx, norm.forward(cx, x)));
  auto part = [&](int64_t i) { return all.narrow(2, i * channels, channels); };
  Tensor query = part(0), key = part(1), value = part(2);
  Tensor y = cx.ops().attention(
      cx, {query, key, value, /*heads=*/1, 1.0 / std::sqrt(static_cast<double>(channels))});
  return proj.forward(cx, image_of(y, x.size(2), x.size(3)), {.residual = &x});
}

CausalResample::CausalResample(Module* parent, const std::string& name, int64_t in, int64_t out,
                               Way way, bool over_time, FilterFrames frames)
    : CausalPart(parent, name), resample(this, "resample"), way_(way) {
  const bool up = way == Way::up;
  resample.add_at(1, in, out, up ? Conv2dOptions() : half_size);
  if (over_time)
    time_conv.emplace(this, "time_conv", in, up ? 2 * in : in, frames_of(frames, 3), 1);
}

Tensor CausalResample::resampled(Context& cx, const Tensor& x, const Tensor* residual) const {
  ConvEpilogue epilogue{.residual = residual};
  if (way_ == Way::up) epilogue.upsample_to = {2 * x.size(2), 2 * x.size(3)};
  return resample[0].forward(cx, x, epilogue);
}

// The convolution makes the channels of both frames.
Tensor CausalResample::doubled(Context& cx, const Tensor& x, FrameState& state) const {
  const int64_t pixels = x.size(2) * x.size(3), channels = x.size(1);
  Tensor both = tokens_of(time_conv->forward(cx, x, &state));
  Tensor frames = cx.ops().swap_rows(cx, {both.reshape({-1, 2, channels}), /*outer=*/pixels});
  return image_of(frames, x.size(2), x.size(3));
}

Tensor CausalResample::forward(Context& cx, const Tensor& x, FrameState* state) const {
  const bool over_time = state && time_conv;
  if (!over_time) return resampled(cx, x, nullptr);
  if (way_ == Way::down) return time_conv->halved(cx, resampled(cx, x, nullptr), *state);
  return resampled(cx, state->begins() ? x : doubled(cx, x, *state), nullptr);
}

Tensor CausalResample::added(Context& cx, const Tensor& x, const Tensor& residual) const {
  return resampled(cx, x, &residual);
}

CausalMidBlock::CausalMidBlock(Module* parent, const std::string& name, int64_t channels,
                               FilterFrames frames)
    : Module(parent, name), attentions(this, "attentions"), resnets(this, "resnets") {
  attentions.add(channels);
  for (int i = 0; i < 2; ++i) resnets.add(channels, channels, frames);
}

Tensor CausalMidBlock::forward(Context& cx, const Tensor& x, FrameState* state) const {
  Tensor h = attentions[0].forward(cx, resnets[0].forward(cx, x, state));
  return resnets[1].forward(cx, h, state);
}

// Latents are small and their channels few, so that each goes by itself.
Tensor scaled_channels(Context& cx, const Tensor& x, const std::vector<double>& scale,
                       const std::vector<double>& shift) {
  Tensor all;
  for (size_t c = 0; c < scale.size(); ++c) {
    Tensor channel = x.narrow(1, static_cast<int64_t>(c), 1);
    Tensor made = cx.ops().affine(cx, {channel, scale[c], shift[c]});
    all = all.defined() ? cx.ops().concat(cx, {all, made}) : made;
  }
  return all;
}

Tensor normalised_channels(Context& cx, const Tensor& x, const std::vector<double>& mean,
                           const std::vector<double>& deviation) {
  std::vector<double> scale, shift;
  for (size_t i = 0; i < deviation.size(); ++i) {
    scale.push_back(1.0 / deviation[i]);
    shift.push_back(-mean[i] / deviation[i]);
  }
  return scaled_channels(cx, x, scale, shift);
}

}  // namespace omnirt::nn
