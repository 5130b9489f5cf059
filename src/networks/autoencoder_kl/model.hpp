#pragma once
#include <optional>

#include "networks/autoencoder_kl/config.hpp"
#include "nn/autoencoder.hpp"
#include "nn/blocks/autoencoder_decoder.hpp"

namespace omnirt {

// The variational autoencoder of Stable Diffusion (Rombach et al. 2021, arXiv 2112.10752; diffusers
// autoencoder_kl.py).
class AutoencoderKL final : public nn::Autoencoder {
 public:
  AutoencoderKL(const AutoencoderKLConfig& config, Json json);
  const char* class_name() const override { return "AutoencoderKL"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // The distribution of the latents of an image {B, in_channels, H, W} in -1..1.
  nn::DiagonalGaussian distribution(Context& cx, const Tensor& image) const;
  // One draw from it.
  Tensor encode(Context& cx, const Tensor& image, const nn::NoiseSource& noise) const override;
  // The distribution's means, then its log variances.
  Tensor moments(Context& cx, const Tensor& image) const override;
  Tensor from_moments(Context& cx, const Tensor& moments,
                      const nn::NoiseSource& noise) const override;
  std::optional<int64_t> tile_size() const override { return config_.tile_size(); }
  Tensor decode(Context& cx, const Tensor& latents) const override;

  bool samples() const override { return true; }
  int64_t latent_channels() const override { return config_.latent_channels; }
  nn::LatentFactors factors() const override;
  double scaling_factor() const override { return config_.scaling_factor; }
  double shift_factor() const override { return config_.shift_factor.value_or(0); }
  bool force_upcast() const override { return config_.force_upcast; }

  nn::AutoencoderEncoder encoder;
  nn::AutoencoderDecoder decoder;
  std::optional<nn::Conv2d> quant_conv;
  std::optional<nn::Conv2d> post_quant_conv;

 private:
  AutoencoderKLConfig config_;
};

const nn::NetworkInfo& autoencoder_kl_info();

}  // namespace omnirt
