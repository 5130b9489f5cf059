#pragma once
#include "networks/autoencoder_kl_qwen_image21/blocks.hpp"
#include "nn/blocks/causal_autoencoder_network.hpp"

namespace omnirt {

// Qwen-Image 2.1's autoencoder (diffusers autoencoder_kl_qwenimage21.py): Wan 2.2's, whose filters
// are those of images, for images with an alpha channel. The latents that it returns and takes are
// normalised channel by channel with the config's means and spreads, as the reference's pipelines
// do outside it.
class AutoencoderKLQwenImage21 final
    : public nn::CausalAutoencoder<QwenImage21Encoder3d, QwenImage21Decoder3d,
                                   AutoencoderKLQwenImage21Config> {
 public:
  AutoencoderKLQwenImage21(const AutoencoderKLQwenImage21Config& config, Json json)
      : CausalAutoencoder(config, std::move(json), /*frames=*/0) {}
  const char* class_name() const override { return "AutoencoderKLQwenImage21"; }
  int64_t image_channels() const override { return own().in_channels; }
};

const nn::NetworkInfo& autoencoder_kl_qwen_image21_info();

}  // namespace omnirt
