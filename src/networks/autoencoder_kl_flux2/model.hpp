#pragma once
#include <optional>

#include "networks/autoencoder_kl_flux2/config.hpp"
#include "nn/autoencoder.hpp"
#include "nn/blocks/autoencoder_decoder.hpp"

namespace omnirt {

// Running statistics of a batch norm without an affine part.
class LatentStatistics final : public nn::Module {
 public:
  LatentStatistics(Module* parent, const std::string& name, int64_t channels, double eps);
  // {B, C, H, W} of any numbers -> about standard normal.
  Tensor normalised(Context& cx, const Tensor& latents) const;
  // The inverse.
  Tensor restored(Context& cx, const Tensor& latents) const;

  Param running_mean, running_var;

 private:
  double eps_;
};

// FLUX.2's autoencoder (diffusers autoencoder_kl_flux2.py). To denoisers each 2x2 square of its
// latents is one latent of four times the channels, normalised by the statistics that the
// checkpoint brings (diffusers Flux2KleinPipeline._patchify_latents, _encode_vae_image); so are the
// latents that it returns and takes here, and factors().side is twice the convolutions'.
class AutoencoderKLFlux2 final : public nn::Autoencoder {
 public:
  AutoencoderKLFlux2(const AutoencoderKLFlux2Config& config, Json json);
  const char* class_name() const override { return "AutoencoderKLFlux2"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // The distribution of the latents before they are packed, {B, latent_channels() / 4, 2 h, 2 w},
  // of an image {B, in_channels, H, W} in -1..1.
  nn::DiagonalGaussian distribution(Context& cx, const Tensor& image) const;
  // The distribution's mode, packed and normalised: the reference's pipelines draw nothing.
  Tensor encode(Context& cx, const Tensor& image, const nn::NoiseSource& noise) const override;
  // The distribution's means, then its log variances.
  Tensor moments(Context& cx, const Tensor& image) const override;
  Tensor from_moments(Context& cx, const Tensor& moments,
                      const nn::NoiseSource& noise) const override;
  std::optional<int64_t> tile_size() const override { return config_.tile_size(); }
  Tensor decode(Context& cx, const Tensor& latents) const override;

  bool samples() const override { return false; }
  int64_t latent_channels() const override { return 4 * config_.latent_channels; }
  nn::LatentFactors factors() const override;
  double scaling_factor() const override { return 1; }
  double shift_factor() const override { return 0; }
  bool force_upcast() const override { return false; }

  nn::AutoencoderEncoder encoder;
  nn::AutoencoderDecoder decoder;
  std::optional<nn::Conv2d> quant_conv;
  std::optional<nn::Conv2d> post_quant_conv;
  LatentStatistics bn;

 private:
  AutoencoderKLFlux2Config config_;
};

const nn::NetworkInfo& autoencoder_kl_flux2_info();

}  // namespace omnirt
