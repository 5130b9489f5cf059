#include "networks/autoencoder_dc/halves.hpp"

#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double dc_norm_out_eps = 1e-5;

}  // namespace

void DCStage::add_layers(const DCLevel& level, int64_t head_dim) {
  for (int64_t i = 0; i < level.layers; ++i, ++count_) {
    if (level.attends) {
      layers_.push_back(std::make_unique<DCAttentionBlock>(this, next(), level, head_dim));
    } else {
      layers_.push_back(
          std::make_unique<DCResBlock>(this, next(), level.channels, level.activation));
    }
  }
}

void DCStage::add_down(int64_t in, int64_t out, bool unshuffles) {
  down_ = std::make_unique<DCDownBlock>(this, next(), in, out, unshuffles);
  ++count_;
}

void DCStage::add_up(int64_t in, int64_t out, bool interpolates) {
  up_ = std::make_unique<DCUpBlock>(this, next(), in, out, interpolates);
  ++count_;
}

Tensor DCStage::forward(Context& cx, const Tensor& x) const {
  Tensor h = up_ ? up_->forward(cx, x) : x;
  for (const auto& layer : layers_) h = layer->forward(cx, h);
  return down_ ? down_->forward(cx, h) : h;
}

DCEncoder::DCEncoder(Module* parent, const std::string& name, const AutoencoderDCConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.in_channels, config.encoder_block_out_channels.front()),
      down_blocks(this, "down_blocks"),
      conv_out(this, "conv_out", config.encoder_block_out_channels.back(), config.latent_channels) {
  const std::vector<DCLevel> levels = encoder_levels(config);
  for (size_t i = 0; i < levels.size(); ++i) {
    DCStage& stage = down_blocks.add();
    stage.add_layers(levels[i], config.attention_head_dim);
    if (i + 1 == levels.size()) continue;
    stage.add_down(levels[i].channels, levels[i + 1].channels,
                   config.downsample_block_type == "pixel_unshuffle");
  }
  if (config.encoder_out_shortcut) shortcut_ = levels.back().channels / config.latent_channels;
}

Tensor DCEncoder::forward(Context& cx, const Tensor& image) const {
  Tensor h = conv_in.forward(cx, image);
  for (size_t i = 0; i < down_blocks.size(); ++i) h = down_blocks[i].forward(cx, h);
  if (shortcut_ == 0) return conv_out.forward(cx, h);
  Tensor past = grouped_mean(cx, h, shortcut_);
  return conv_out.forward(cx, h, {.residual = &past});
}

DCDecoder::DCDecoder(Module* parent, const std::string& name, const AutoencoderDCConfig& config)
    : Module(parent, name),
      conv_in(this, "conv_in", config.latent_channels, config.decoder_block_out_channels.back()),
      up_blocks(this, "up_blocks"),
      norm_out(this, "norm_out", config.decoder_block_out_channels.front(), dc_norm_out_eps),
      conv_out(this, "conv_out", config.decoder_block_out_channels.front(), config.in_channels),
      activation_(ops::activation_from_name(config.decoder_conv_act_fn, "decoder_conv_act_fn")) {
  const std::vector<DCLevel> levels = decoder_levels(config);
  for (size_t i = 0; i < levels.size(); ++i) {
    DCStage& stage = up_blocks.add();
    if (i + 1 < levels.size()) {
      stage.add_up(levels[i + 1].channels, levels[i].channels,
                   config.upsample_block_type == "interpolate");
    }
    stage.add_layers(levels[i], config.attention_head_dim);
  }
  if (config.decoder_in_shortcut) shortcut_ = levels.back().channels / config.latent_channels;
}

Tensor DCDecoder::forward(Context& cx, const Tensor& latents) const {
  Tensor past;
  if (shortcut_ > 0) past = repeated_channels(latents, shortcut_);
  Tensor h = conv_in.forward(cx, latents, {.residual = shortcut_ > 0 ? &past : nullptr});
  for (size_t i = up_blocks.size(); i > 0; --i) h = up_blocks[i - 1].forward(cx, h);
  h = cx.ops().activate(cx, {norm_out.forward(cx, h), activation_});
  return conv_out.forward(cx, h);
}

}  // namespace omnirt
