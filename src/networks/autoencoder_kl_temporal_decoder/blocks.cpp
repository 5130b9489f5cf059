#include "networks/autoencoder_kl_temporal_decoder/blocks.hpp"

namespace omnirt {
namespace {

constexpr int64_t norm_groups = AutoencoderKLTemporalDecoderConfig::norm_groups;

nn::SpatioTemporalOptions resnet(int64_t in, int64_t out) {
  return {.resnet = {.in = in, .out = out, .groups = norm_groups, .eps = nn::autoencoder_norm_eps},
          .temporal_eps = 1e-5,
          .switched = true};
}

}  // namespace

nn::AutoencoderOptions autoencoder_options(const AutoencoderKLTemporalDecoderConfig& config) {
  return {.image_channels = config.in_channels,
          .latent_channels = config.latent_channels,
          .block_out_channels = config.block_out_channels,
          .layers_per_block = config.layers_per_block,
          .norm_groups = norm_groups};
}

MidBlockTemporalDecoder::MidBlockTemporalDecoder(Module* parent, const std::string& name,
                                                 int64_t channels, int64_t layers)
    : Module(parent, name), attentions(this, "attentions"), resnets(this, "resnets") {
  for (int64_t i = 0; i < layers; ++i) resnets.add(resnet(channels, channels));
  attentions.add(nn::autoencoder_attention(channels, norm_groups));
}

Tensor MidBlockTemporalDecoder::forward(Context& cx, const Tensor& x, int64_t frames) const {
  Tensor h = resnets[0].forward(cx, x, frames, nullptr);
  if (resnets.size() == 1) return h;
  h = attentions[0].forward_pixels(cx, h);
  return resnets[1].forward(cx, h, frames, nullptr);
}

UpBlockTemporalDecoder::UpBlockTemporalDecoder(Module* parent, const std::string& name, int64_t in,
                                               int64_t out, int64_t layers, bool upsamples)
    : Module(parent, name), resnets(this, "resnets"), upsamplers(this, "upsamplers") {
  for (int64_t i = 0; i < layers; ++i) resnets.add(resnet(i == 0 ? in : out, out));
  if (upsamples) upsamplers.add(out);
}

Tensor UpBlockTemporalDecoder::forward(Context& cx, Tensor x, int64_t frames) const {
  for (size_t i = 0; i < resnets.size(); ++i) x = resnets[i].forward(cx, x, frames, nullptr);
  return upsamplers.empty() ? x : upsamplers[0].forward(cx, x);
}

TemporalDecoder::TemporalDecoder(Module* parent, const std::string& name,
                                 const AutoencoderKLTemporalDecoderConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.latent_channels, config.block_out_channels.back()),
      mid_block(this, "mid_block", config.block_out_channels.back(), config.layers_per_block),
      up_blocks(this, "up_blocks"),
      conv_norm_out(this, "conv_norm_out", norm_groups, config.block_out_channels.front(),
                    nn::autoencoder_norm_eps),
      conv_out(this, "conv_out", config.block_out_channels.front(), config.out_channels),
      time_conv_out(this, "time_conv_out", config.out_channels, config.out_channels) {
  const auto& channels = config.block_out_channels;
  for (size_t i = channels.size(); i-- > 0;) {
    int64_t in = channels[i + 1 == channels.size() ? i : i + 1];
    up_blocks.add(in, channels[i], config.layers_per_block + 1, i > 0);
  }
}

Tensor TemporalDecoder::forward(Context& cx, const Tensor& latents) const {
  int64_t frames = latents.size(0);
  Tensor x = mid_block.forward(cx, conv_in.forward(cx, latents), frames);
  for (size_t i = 0; i < up_blocks.size(); ++i) x = up_blocks[i].forward(cx, std::move(x), frames);
  x = conv_out.forward(cx, conv_norm_out.forward(cx, x, ops::Activation::silu));
  Tensor smoothed = time_conv_out.forward(cx, nn::videos_of(x, frames));
  return nn::maps_of(smoothed, x.size(2), x.size(3));
}

}  // namespace omnirt
