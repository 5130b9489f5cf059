#include "nn/blocks/autoencoder_encoder.hpp"

namespace omnirt::nn {
namespace {

// As the strided convolution of the encoder pads: below and to the right only.
constexpr int64_t one_sided = 0;

}  // namespace

ResnetOptions autoencoder_resnet(const AutoencoderOptions& options, int64_t in, int64_t out) {
  return {.in = in,
          .out = out,
          .groups = options.norm_groups,
          .eps = autoencoder_norm_eps,
          .activation = options.activation};
}

AttentionOptions autoencoder_attention(int64_t channels, int64_t norm_groups) {
  return {.dim = channels,
          .heads = 1,
          .head_dim = channels,
          .bias = true,
          .norm_groups = norm_groups,
          .norm_eps = autoencoder_norm_eps};
}

DownEncoderBlock2D::DownEncoderBlock2D(Module* parent, const std::string& name,
                                       const AutoencoderOptions& options, size_t level)
    : Module(parent, name), resnets(this, "resnets"), downsamplers(this, "downsamplers") {
  const auto& channels = options.block_out_channels;
  int64_t in = channels[level == 0 ? 0 : level - 1];
  for (int64_t i = 0; i < options.layers_per_block; ++i) {
    resnets.add(autoencoder_resnet(options, i == 0 ? in : channels[level], channels[level]));
  }
  if (level + 1 < channels.size()) downsamplers.add(channels[level], one_sided);
}

Tensor DownEncoderBlock2D::forward(Context& cx, Tensor x) const {
  for (size_t i = 0; i < resnets.size(); ++i) x = resnets[i].forward(cx, x, nullptr);
  return downsamplers.empty() ? x : downsamplers[0].forward(cx, x);
}

AutoencoderMidBlock2D::AutoencoderMidBlock2D(Module* parent, const std::string& name,
                                             const AutoencoderOptions& options)
    : Module(parent, name), attentions(this, "attentions"), resnets(this, "resnets") {
  int64_t channels = options.block_out_channels.back();
  resnets.add(autoencoder_resnet(options, channels, channels));
  if (options.mid_attention) {
    attentions.add(autoencoder_attention(channels, options.norm_groups));
  }
  resnets.add(autoencoder_resnet(options, channels, channels));
}

Tensor AutoencoderMidBlock2D::forward(Context& cx, Tensor x) const {
  x = resnets[0].forward(cx, x, nullptr);
  if (!attentions.empty()) x = attentions[0].forward_pixels(cx, x);
  return resnets[1].forward(cx, x, nullptr);
}

AutoencoderEncoder::AutoencoderEncoder(Module* parent, const std::string& name,
                                       const AutoencoderOptions& options)
    : Module(parent, name),
      conv_in(this, "conv_in", options.image_channels, options.block_out_channels.front()),
      down_blocks(this, "down_blocks"),
      mid_block(this, "mid_block", options),
      conv_norm_out(this, "conv_norm_out", options.norm_groups, options.block_out_channels.back(),
                    autoencoder_norm_eps),
      conv_out(this, "conv_out", options.block_out_channels.back(), 2 * options.latent_channels) {
  for (size_t i = 0; i < options.block_out_channels.size(); ++i) down_blocks.add(options, i);
}

Tensor AutoencoderEncoder::forward(Context& cx, const Tensor& image) const {
  Tensor x = conv_in.forward(cx, image);
  for (size_t i = 0; i < down_blocks.size(); ++i) x = down_blocks[i].forward(cx, std::move(x));
  x = mid_block.forward(cx, std::move(x));
  // SiLU whatever act_fn says, as in the reference.
  return conv_out.forward(cx, conv_norm_out.forward(cx, x, ops::Activation::silu));
}

}  // namespace omnirt::nn
