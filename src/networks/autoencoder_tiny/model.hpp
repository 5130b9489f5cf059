#pragma once
#include "networks/autoencoder_tiny/blocks.hpp"
#include "nn/autoencoder.hpp"

namespace omnirt {

// A small distilled autoencoder (TAESD, github madebyollin/taesd; diffusers autoencoder_tiny.py).
// That of FLUX.2 takes and returns latents as FLUX.2's denoisers do: packed (nn/patches.hpp), so
// that factors().side is twice the convolutions', and normalised, which it was trained on.
class AutoencoderTiny final : public nn::Autoencoder {
 public:
  AutoencoderTiny(const AutoencoderTinyConfig& config, Json json);
  const char* class_name() const override { return "AutoencoderTiny"; }
  nn::Metadata metadata() const override;

  // Latents are a function of the image: no noise is drawn.
  Tensor encode(Context& cx, const Tensor& image, const nn::NoiseSource& noise) const override;
  Tensor decode(Context& cx, const Tensor& latents) const override;

  bool samples() const override { return false; }
  int64_t latent_channels() const override;
  nn::LatentFactors factors() const override;
  double scaling_factor() const override { return config_.scaling_factor; }
  double shift_factor() const override { return config_.shift_factor; }
  bool force_upcast() const override { return false; }  // as the reference sets it, always

  EncoderTiny encoder;
  DecoderTiny decoder;

 private:
  AutoencoderTinyConfig config_;
};

const nn::NetworkInfo& autoencoder_tiny_info();

}  // namespace omnirt
