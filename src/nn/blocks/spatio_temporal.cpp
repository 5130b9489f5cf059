#include "nn/blocks/spatio_temporal.hpp"

namespace omnirt::nn {
namespace {

constexpr std::array<int64_t, 4> one_frame_before_and_after{0, 0, 1, 1};

ResnetOptions temporal(const SpatioTemporalOptions& options) {
  ResnetOptions resnet = options.resnet;
  resnet.in = resnet.out;
  resnet.eps = options.temporal_eps;
  return resnet;
}

}  // namespace

Tensor videos_of(const Tensor& maps, int64_t frames) {
  auto [rows, channels, height, width] =
      std::tuple{maps.size(0), maps.size(1), maps.size(2), maps.size(3)};
  return maps.view({rows / frames, frames, channels, height, width})
      .permute({0, 2, 1, 3, 4})
      .reshape({rows / frames, channels, frames, height * width});
}

Tensor maps_of(const Tensor& videos, int64_t height, int64_t width) {
  auto [batch, channels, frames] = std::tuple{videos.size(0), videos.size(1), videos.size(2)};
  return videos.view({batch, channels, frames, height, width})
      .permute({0, 2, 1, 3, 4})
      .reshape({batch * frames, channels, height, width});
}

Tensor each_frame(const Tensor& rows, int64_t frames) {
  std::vector<int64_t> shape = rows.sizes().vec(), repeated = shape;
  repeated.insert(repeated.begin() + 1, frames);
  shape[0] *= frames;
  return rows.unsqueeze(1).expand(repeated).reshape(shape);
}

AlphaBlender::AlphaBlender(Module* parent, const std::string& name, bool switched)
    : Module(parent, name), mix_factor(param("mix_factor", {1})), switched_(switched) {
  own(mix_factor);
}

Tensor AlphaBlender::forward(Context& cx, const Tensor& spatial, const Tensor& temporal) const {
  return cx.ops().blend(cx, {spatial, temporal, cx[mix_factor], switched_});
}

TemporalConv::TemporalConv(Module* parent, const std::string& name, int64_t in, int64_t out)
    : Module(parent, name),
      weight(param("weight", {out, in, 3, 1, 1})),
      bias(param("bias", {out})) {
  own(weight);
  own(bias);
}

Tensor TemporalConv::forward(Context& cx, const Tensor& x, const ConvEpilogue& epilogue) const {
  std::optional<ops::InputNorm> norm;
  if (epilogue.norm) norm = epilogue.norm->spec(cx, epilogue.norm_activation);
  Tensor kernel = cx.as_encoded(weight).view({weight.shape[0], weight.shape[1], 3, 1});
  return cx.ops().conv2d(cx, {.x = x,
                              .weight = kernel,
                              .bias = cx.maybe(bias),
                              .padding = one_frame_before_and_after,
                              .residual = epilogue.residual,
                              .sample_bias = epilogue.sample_bias,
                              .norm = norm ? &*norm : nullptr,
                              .pack = cx.packing(weight)});
}

TemporalResnetBlock::TemporalResnetBlock(Module* parent, const std::string& name,
                                         const ResnetOptions& options)
    : Module(parent, name),
      norm1(this, "norm1", options.groups, options.in, options.eps),
      conv1(this, "conv1", options.in, options.out),
      norm2(this, "norm2", options.groups, options.out, options.eps),
      conv2(this, "conv2", options.out, options.out) {
  if (options.temb > 0) time_emb_proj.emplace(this, "time_emb_proj", options.temb, options.out);
}

Tensor TemporalResnetBlock::forward(Context& cx, const Tensor& x, const Tensor* temb) const {
  return cx.segment(path(), [&] {
    Tensor time = time_emb_proj && temb ? time_emb_proj->forward(cx, *temb) : Tensor();
    Tensor h = conv1.forward(cx, x,
                             {.sample_bias = time.defined() ? &time : nullptr,
                              .norm = &norm1,
                              .norm_activation = ops::Activation::silu});
    return conv2.forward(
        cx, h, {.residual = &x, .norm = &norm2, .norm_activation = ops::Activation::silu});
  });
}

SpatioTemporalResBlock::SpatioTemporalResBlock(Module* parent, const std::string& name,
                                               const SpatioTemporalOptions& options)
    : Module(parent, name),
      spatial_res_block(this, "spatial_res_block", options.resnet),
      temporal_res_block(this, "temporal_res_block", temporal(options)),
      time_mixer(this, "time_mixer", options.switched) {}

Tensor SpatioTemporalResBlock::forward(Context& cx, const Tensor& x, int64_t frames,
                                       const VideoTime* time) const {
  Tensor h = spatial_res_block.forward(cx, x, time ? &time->frames : nullptr);
  Tensor spatial = videos_of(h, frames);
  Tensor temporal = temporal_res_block.forward(cx, spatial, time ? &time->videos : nullptr);
  return maps_of(time_mixer.forward(cx, spatial, temporal), x.size(2), x.size(3));
}

}  // namespace omnirt::nn
