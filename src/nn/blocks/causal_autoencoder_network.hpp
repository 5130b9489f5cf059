#pragma once
#include <utility>

#include "nn/autoencoder.hpp"
#include "nn/blocks/one_frame_autoencoder.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {

// A network of an encoder and a decoder of videos of one frame, whose latents are normalised
// channel by channel. Config has z_dim, dim_mult, latents_mean and latents_std.
template <class Encoder, class Decoder, class Config>
class OneFrameAutoencoder : public Autoencoder {
 public:
  // `frames` of the filters between the two, as CausalConv3d has them.
  OneFrameAutoencoder(const Config& config, Json json, int64_t frames)
      : Autoencoder(std::move(json)),
        encoder(this, "encoder", config),
        quant_conv(this, "quant_conv", 2 * config.z_dim, 2 * config.z_dim, frames, 1),
        post_quant_conv(this, "post_quant_conv", config.z_dim, config.z_dim, frames, 1),
        decoder(this, "decoder", config),
        config_(config) {}
  Metadata metadata() const override {
    return feature_metadata(*this, {.no_split_modules = {"QwenImageResidualBlock"}});
  }

  // The distribution of the latents before they are normalised, of an image {B, C, H, W} in -1..1.
  DiagonalGaussian distribution(Context& cx, const Tensor& image) const {
    Tensor moments = quant_conv.forward(cx, encoder.forward(cx, in_form(cx, image)));
    auto halves = moments.chunk(2, 1);
    return {halves[0], halves[1]};
  }
  // One draw from it, normalised; noise of zeros yields the mode.
  Tensor encode(Context& cx, const Tensor& image, const NoiseSource& noise) const override {
    DiagonalGaussian latents = distribution(cx, image);
    Tensor drawn = latents.sample(cx, noise(latents.mean.sizes()));
    return normalised_channels(cx, drawn, config_.latents_mean, config_.latents_std);
  }
  Tensor decode(Context& cx, const Tensor& latents) const override {
    Tensor z = scaled_channels(cx, in_form(cx, latents), config_.latents_std, config_.latents_mean);
    return decoder.forward(cx, post_quant_conv.forward(cx, in_form(cx, z)));
  }

  bool samples() const override { return true; }
  int64_t latent_channels() const override { return config_.z_dim; }
  int64_t scale_factor() const override { return int64_t{1} << (config_.dim_mult.size() - 1); }
  double scaling_factor() const override { return 1; }
  double shift_factor() const override { return 0; }
  bool force_upcast() const override { return false; }

  Encoder encoder;
  CausalConv3d quant_conv, post_quant_conv;
  Decoder decoder;

 protected:
  const Config& own() const { return config_; }

 private:
  Config config_;
};

}  // namespace omnirt::nn
