#include "nn/blocks/autoencoder_decoder.hpp"

namespace omnirt::nn {

UpDecoderBlock2D::UpDecoderBlock2D(Module* parent, const std::string& name,
                                   const AutoencoderOptions& options, size_t level)
    : Module(parent, name), resnets(this, "resnets"), upsamplers(this, "upsamplers") {
  const auto& channels = options.block_out_channels;
  int64_t in = channels[level + 1 == channels.size() ? level : level + 1];
  for (int64_t i = 0; i <= options.layers_per_block; ++i) {
    resnets.add(autoencoder_resnet(options, i == 0 ? in : channels[level], channels[level]));
  }
  if (level > 0) upsamplers.add(channels[level]);
}

Tensor UpDecoderBlock2D::forward(Context& cx, Tensor x) const {
  for (size_t i = 0; i < resnets.size(); ++i) x = resnets[i].forward(cx, x, nullptr);
  return upsamplers.empty() ? x : upsamplers[0].forward(cx, x);
}

AutoencoderDecoder::AutoencoderDecoder(Module* parent, const std::string& name,
                                       const AutoencoderOptions& options)
    : Module(parent, name),
      conv_in(this, "conv_in", options.latent_channels, options.block_out_channels.back()),
      up_blocks(this, "up_blocks"),
      mid_block(this, "mid_block", options),
      conv_norm_out(this, "conv_norm_out", options.norm_groups, options.block_out_channels.front(),
                    autoencoder_norm_eps),
      conv_out(this, "conv_out", options.block_out_channels.front(), options.image_channels) {
  for (size_t i = options.block_out_channels.size(); i-- > 0;) up_blocks.add(options, i);
}

Tensor AutoencoderDecoder::forward(Context& cx, const Tensor& latents) const {
  Tensor x = mid_block.forward(cx, conv_in.forward(cx, latents));
  for (size_t i = 0; i < up_blocks.size(); ++i) x = up_blocks[i].forward(cx, std::move(x));
  // SiLU whatever act_fn says, as in the reference.
  return conv_out.forward(cx, conv_norm_out.forward(cx, x, ops::Activation::silu));
}

}  // namespace omnirt::nn
