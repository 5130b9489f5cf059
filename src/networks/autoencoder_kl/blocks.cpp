#include "networks/autoencoder_kl/blocks.hpp"

namespace omnirt {
namespace {

constexpr double norm_eps = 1e-6;

nn::ResnetOptions resnet(const AutoencoderKLConfig& config, int64_t in, int64_t out) {
  return {.in = in,
          .out = out,
          .groups = config.norm_num_groups,
          .eps = norm_eps,
          .activation = ops::activation_from_name(config.act_fn, "act_fn")};
}

// As the strided convolution of the encoder pads: below and to the right only.
constexpr int64_t one_sided = 0;

}  // namespace

DownEncoderBlock2D::DownEncoderBlock2D(Module* parent, const std::string& name,
                                       const AutoencoderKLConfig& config, size_t level)
    : Module(parent, name), resnets(this, "resnets"), downsamplers(this, "downsamplers") {
  const auto& channels = config.block_out_channels;
  int64_t in = channels[level == 0 ? 0 : level - 1];
  for (int64_t i = 0; i < config.layers_per_block; ++i) {
    resnets.add(resnet(config, i == 0 ? in : channels[level], channels[level]));
  }
  if (level + 1 < channels.size()) downsamplers.add(channels[level], one_sided);
}

Tensor DownEncoderBlock2D::forward(Context& cx, Tensor x) const {
  for (size_t i = 0; i < resnets.size(); ++i) x = resnets[i].forward(cx, x, nullptr);
  return downsamplers.empty() ? x : downsamplers[0].forward(cx, x);
}

UpDecoderBlock2D::UpDecoderBlock2D(Module* parent, const std::string& name,
                                   const AutoencoderKLConfig& config, size_t level)
    : Module(parent, name), resnets(this, "resnets"), upsamplers(this, "upsamplers") {
  const auto& channels = config.block_out_channels;
  int64_t in = channels[level + 1 == channels.size() ? level : level + 1];
  for (int64_t i = 0; i <= config.layers_per_block; ++i) {
    resnets.add(resnet(config, i == 0 ? in : channels[level], channels[level]));
  }
  if (level > 0) upsamplers.add(channels[level]);
}

Tensor UpDecoderBlock2D::forward(Context& cx, Tensor x) const {
  for (size_t i = 0; i < resnets.size(); ++i) x = resnets[i].forward(cx, x, nullptr);
  return upsamplers.empty() ? x : upsamplers[0].forward(cx, x);
}

AutoencoderMidBlock2D::AutoencoderMidBlock2D(Module* parent, const std::string& name,
                                             const AutoencoderKLConfig& config)
    : Module(parent, name), attentions(this, "attentions"), resnets(this, "resnets") {
  int64_t channels = config.block_out_channels.back();
  resnets.add(resnet(config, channels, channels));
  if (config.mid_block_add_attention) {
    attentions.add(nn::AttentionOptions{.dim = channels,
                                        .heads = 1,
                                        .head_dim = channels,
                                        .bias = true,
                                        .norm_groups = config.norm_num_groups,
                                        .norm_eps = norm_eps});
  }
  resnets.add(resnet(config, channels, channels));
}

Tensor AutoencoderMidBlock2D::forward(Context& cx, Tensor x) const {
  x = resnets[0].forward(cx, x, nullptr);
  if (!attentions.empty()) x = attentions[0].forward_pixels(cx, x);
  return resnets[1].forward(cx, x, nullptr);
}

AutoencoderKLEncoder::AutoencoderKLEncoder(Module* parent, const std::string& name,
                                           const AutoencoderKLConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.in_channels, config.block_out_channels.front()),
      down_blocks(this, "down_blocks"),
      mid_block(this, "mid_block", config),
      conv_norm_out(this, "conv_norm_out", config.norm_num_groups, config.block_out_channels.back(),
                    norm_eps),
      conv_out(this, "conv_out", config.block_out_channels.back(), 2 * config.latent_channels) {
  for (size_t i = 0; i < config.block_out_channels.size(); ++i) down_blocks.add(config, i);
}

Tensor AutoencoderKLEncoder::forward(Context& cx, const Tensor& image) const {
  Tensor x = conv_in.forward(cx, image);
  for (size_t i = 0; i < down_blocks.size(); ++i) x = down_blocks[i].forward(cx, std::move(x));
  x = mid_block.forward(cx, std::move(x));
  // SiLU whatever act_fn says, as the reference has it.
  return conv_out.forward(cx, conv_norm_out.forward(cx, x, ops::Activation::silu));
}

AutoencoderKLDecoder::AutoencoderKLDecoder(Module* parent, const std::string& name,
                                           const AutoencoderKLConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.latent_channels, config.block_out_channels.back()),
      up_blocks(this, "up_blocks"),
      mid_block(this, "mid_block", config),
      conv_norm_out(this, "conv_norm_out", config.norm_num_groups,
                    config.block_out_channels.front(), norm_eps),
      conv_out(this, "conv_out", config.block_out_channels.front(), config.out_channels) {
  for (size_t i = config.block_out_channels.size(); i-- > 0;) up_blocks.add(config, i);
}

Tensor AutoencoderKLDecoder::forward(Context& cx, const Tensor& latents) const {
  Tensor x = mid_block.forward(cx, conv_in.forward(cx, latents));
  for (size_t i = 0; i < up_blocks.size(); ++i) x = up_blocks[i].forward(cx, std::move(x));
  return conv_out.forward(cx, conv_norm_out.forward(cx, x, ops::Activation::silu));
}

}  // namespace omnirt
