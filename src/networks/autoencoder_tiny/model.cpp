#include "networks/autoencoder_tiny/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {

AutoencoderTiny::AutoencoderTiny(const AutoencoderTinyConfig& config, Json json)
    : Autoencoder(std::move(json)),
      encoder(this, "encoder", config),
      decoder(this, "decoder", config),
      config_(config) {}

nn::Metadata AutoencoderTiny::metadata() const {
  return nn::feature_metadata(*this, {});
}

Tensor AutoencoderTiny::encode(Context& cx, const Tensor& image, const nn::NoiseSource&) const {
  Tensor latents = encoder.forward(cx, nn::in_form(cx, image));
  return config_.flux_2() ? nn::packed_patches(latents) : latents;
}

Tensor AutoencoderTiny::decode(Context& cx, const Tensor& latents) const {
  Tensor own = config_.flux_2() ? nn::unpacked_patches(latents) : latents;
  return decoder.forward(cx, nn::in_form(cx, own));
}

int64_t AutoencoderTiny::latent_channels() const {
  return config_.latent_channels * (config_.flux_2() ? nn::patch_side * nn::patch_side : 1);
}

nn::LatentFactors AutoencoderTiny::factors() const {
  return {.side = (config_.flux_2() ? nn::patch_side : 1)
                  << (config_.decoder_block_out_channels.size() - 1)};
}

const nn::NetworkInfo& autoencoder_tiny_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderTiny",
      .make = nn::network_of<AutoencoderTiny, read_autoencoder_tiny_config>,
      .summary = "the tiny autoencoder TAESD",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
      .from_tensors = {.signs = "a tiny autoencoder (encoder.layers.*, decoder.layers.*)",
                       .config = autoencoder_tiny_config_of},
  };
  return info;
}

}  // namespace omnirt
