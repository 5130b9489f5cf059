#pragma once
#include <utility>

#include "nn/autoencoder.hpp"
#include "nn/blocks/causal_autoencoder.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {

// An autoencoder of these parts for images, whose latents are normalised channel by channel. Config
// has z_dim, dim_mult, latents_mean and latents_std.
template <class Encoder, class Decoder, class Config>
class CausalAutoencoder : public Autoencoder {
 public:
  // `frames` of the filters between the two, as CausalConv3d has them.
  CausalAutoencoder(const Config& config, Json json, int64_t frames)
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
    return halves_of(moments(cx, image));
  }
  // One draw from it, normalised; noise of zeros yields the mode.
  Tensor encode(Context& cx, const Tensor& image, const NoiseSource& noise) const override {
    return from_moments(cx, moments(cx, image), noise);
  }
  Tensor moments(Context& cx, const Tensor& image) const override {
    return quant_conv.forward(cx, encoder.forward(cx, in_form(cx, image)));
  }
  Tensor from_moments(Context& cx, const Tensor& moments, const NoiseSource& noise) const override {
    DiagonalGaussian latents = halves_of(moments);
    Tensor drawn = latents.sample(cx, noise(latents.mean.sizes()));
    return normalised_channels(cx, drawn, config_.latents_mean, config_.latents_std);
  }
  Tensor decode(Context& cx, const Tensor& latents) const override {
    return decoder.forward(cx, decoded_from(cx, latents));
  }

  bool samples() const override { return true; }
  int64_t latent_channels() const override { return config_.z_dim; }
  LatentFactors factors() const override {
    return {.side = int64_t{1} << (config_.dim_mult.size() - 1)};
  }
  double scaling_factor() const override { return 1; }
  double shift_factor() const override { return 0; }
  bool force_upcast() const override { return false; }

  Encoder encoder;
  CausalConv3d quant_conv, post_quant_conv;
  Decoder decoder;

 protected:
  const Config& own() const { return config_; }
  // What the decoder takes of normalised latents.
  Tensor decoded_from(Context& cx, const Tensor& latents) const {
    Tensor z = scaled_channels(cx, in_form(cx, latents), config_.latents_std, config_.latents_mean);
    return post_quant_conv.forward(cx, in_form(cx, z));
  }

 private:
  static DiagonalGaussian halves_of(const Tensor& moments) {
    auto halves = moments.chunk(2, 1);
    return {halves[0], halves[1]};
  }

  Config config_;
};

}  // namespace omnirt::nn
