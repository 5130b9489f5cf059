#pragma once
#include "networks/autoencoder_kl_temporal_decoder/blocks.hpp"
#include "nn/autoencoder.hpp"

namespace omnirt {

// The autoencoder of Stable Video Diffusion: images are encoded each for itself, frames decoded
// together (Blattmann et al. 2023, arXiv 2311.15127; diffusers autoencoder_kl_temporal_decoder.py).
class AutoencoderKLTemporalDecoder final : public nn::Autoencoder {
 public:
  AutoencoderKLTemporalDecoder(const AutoencoderKLTemporalDecoderConfig& config, Json json);
  const char* class_name() const override { return "AutoencoderKLTemporalDecoder"; }
  nn::Metadata metadata() const override;

  // The distribution of the latents of an image {B, in_channels, H, W} in -1..1.
  nn::DiagonalGaussian distribution(Context& cx, const Tensor& image) const;
  // One draw from it; noise of zeros yields the mode.
  Tensor encode(Context& cx, const Tensor& image, const nn::NoiseSource& noise) const override;
  // The rows are the frames of one video, in their order.
  Tensor decode(Context& cx, const Tensor& latents) const override;

  bool samples() const override { return true; }
  int64_t latent_channels() const override { return config_.latent_channels; }
  nn::LatentFactors factors() const override;
  double scaling_factor() const override { return config_.scaling_factor; }
  double shift_factor() const override { return 0; }
  bool force_upcast() const override { return config_.force_upcast; }

  nn::AutoencoderEncoder encoder;
  TemporalDecoder decoder;
  nn::Conv2d quant_conv;

 private:
  AutoencoderKLTemporalDecoderConfig config_;
};

const nn::NetworkInfo& autoencoder_kl_temporal_decoder_info();

}  // namespace omnirt
