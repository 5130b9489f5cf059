#include "networks/autoencoder_kl/blocks.hpp"

namespace omnirt {

nn::AutoencoderOptions autoencoder_options(const AutoencoderKLConfig& config) {
  return {.image_channels = config.in_channels,
          .latent_channels = config.latent_channels,
          .block_out_channels = config.block_out_channels,
          .layers_per_block = config.layers_per_block,
          .norm_groups = config.norm_num_groups,
          .activation = ops::activation_from_name(config.act_fn, "act_fn"),
          .mid_attention = config.mid_block_add_attention};
}

UpDecoderBlock2D::UpDecoderBlock2D(Module* parent, const std::string& name,
                                   const nn::AutoencoderOptions& options, size_t level)
    : Module(parent, name), resnets(this, "resnets"), upsamplers(this, "upsamplers") {
  const auto& channels = options.block_out_channels;
  int64_t in = channels[level + 1 == channels.size() ? level : level + 1];
  for (int64_t i = 0; i <= options.layers_per_block; ++i) {
    resnets.add(nn::autoencoder_resnet(options, i == 0 ? in : channels[level], channels[level]));
  }
  if (level > 0) upsamplers.add(channels[level]);
}

Tensor UpDecoderBlock2D::forward(Context& cx, Tensor x) const {
  for (size_t i = 0; i < resnets.size(); ++i) x = resnets[i].forward(cx, x, nullptr);
  return upsamplers.empty() ? x : upsamplers[0].forward(cx, x);
}

AutoencoderKLDecoder::AutoencoderKLDecoder(Module* parent, const std::string& name,
                                           const AutoencoderKLConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.latent_channels, config.block_out_channels.back()),
      up_blocks(this, "up_blocks"),
      mid_block(this, "mid_block", autoencoder_options(config)),
      conv_norm_out(this, "conv_norm_out", config.norm_num_groups,
                    config.block_out_channels.front(), nn::autoencoder_norm_eps),
      conv_out(this, "conv_out", config.block_out_channels.front(), config.out_channels) {
  nn::AutoencoderOptions options = autoencoder_options(config);
  for (size_t i = config.block_out_channels.size(); i-- > 0;) up_blocks.add(options, i);
}

Tensor AutoencoderKLDecoder::forward(Context& cx, const Tensor& latents) const {
  Tensor x = mid_block.forward(cx, conv_in.forward(cx, latents));
  for (size_t i = 0; i < up_blocks.size(); ++i) x = up_blocks[i].forward(cx, std::move(x));
  // SiLU whatever act_fn says, as the reference has it.
  return conv_out.forward(cx, conv_norm_out.forward(cx, x, ops::Activation::silu));
}

}  // namespace omnirt
