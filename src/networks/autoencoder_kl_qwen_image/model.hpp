#pragma once
#include "networks/autoencoder_kl_qwen_image/blocks.hpp"
#include "nn/blocks/causal_autoencoder_network.hpp"

namespace omnirt {

// Qwen-Image's autoencoder, which is Wan 2.1's (Wan Team 2025, arXiv 2503.20314; diffusers
// autoencoder_kl_qwenimage.py), of images and videos. The latents that it returns and
// takes are normalised channel by channel with the config's means and spreads, as the reference's
// pipelines do outside it.
class AutoencoderKLQwenImage final
    : public nn::CausalAutoencoder<QwenImageEncoder3d, QwenImageDecoder3d,
                                   AutoencoderKLQwenImageConfig> {
 public:
  AutoencoderKLQwenImage(const AutoencoderKLQwenImageConfig& config, Json json)
      : CausalAutoencoder(config, std::move(json), /*frames=*/1) {}
  const char* class_name() const override { return "AutoencoderKLQwenImage"; }
  std::vector<nn::OriginalLayout> original_layouts() const override;
  int64_t image_channels() const override { return own().input_channels; }
  nn::LatentFactors factors() const override;
  Tensor decode_frames(Context& cx, const Tensor& latents, nn::FrameState& state) const override;
  Tensor frame_moments(Context& cx, const Tensor& frames, nn::FrameState& state) const override;
};

const nn::NetworkInfo& autoencoder_kl_qwen_image_info();

}  // namespace omnirt
