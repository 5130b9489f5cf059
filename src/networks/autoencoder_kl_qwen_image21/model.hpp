#pragma once
#include "networks/autoencoder_kl_qwen_image21/blocks.hpp"
#include "nn/autoencoder.hpp"

namespace omnirt {

// Qwen-Image 2.1's autoencoder (diffusers autoencoder_kl_qwenimage21.py): Wan 2.2's, whose filters
// are those of images, for images with an alpha channel. The latents that it returns and takes are
// normalised channel by channel with the config's means and spreads, as the reference's pipelines
// do outside it.
class AutoencoderKLQwenImage21 final : public nn::Autoencoder {
 public:
  AutoencoderKLQwenImage21(const AutoencoderKLQwenImage21Config& config, Json json);
  const char* class_name() const override { return "AutoencoderKLQwenImage21"; }
  nn::Metadata metadata() const override;

  // The distribution of the latents before they are normalised, of an image {B, C, H, W} in -1..1.
  nn::DiagonalGaussian distribution(Context& cx, const Tensor& image) const;
  // One draw from it, normalised; noise of zeros yields the mode.
  Tensor encode(Context& cx, const Tensor& image, const nn::NoiseSource& noise) const override;
  Tensor decode(Context& cx, const Tensor& latents) const override;

  bool samples() const override { return true; }
  int64_t latent_channels() const override { return config_.z_dim; }
  int64_t image_channels() const override { return config_.in_channels; }
  int64_t scale_factor() const override { return int64_t{1} << (config_.dim_mult.size() - 1); }
  double scaling_factor() const override { return 1; }
  double shift_factor() const override { return 0; }
  bool force_upcast() const override { return false; }

  QwenImage21Encoder3d encoder;
  nn::CausalConv3d quant_conv, post_quant_conv;
  QwenImage21Decoder3d decoder;

 private:
  AutoencoderKLQwenImage21Config config_;
};

const nn::NetworkInfo& autoencoder_kl_qwen_image21_info();

}  // namespace omnirt
