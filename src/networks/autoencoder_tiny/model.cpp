#include "networks/autoencoder_tiny/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

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
  return encoder.forward(cx, nn::in_form(cx, image));
}

Tensor AutoencoderTiny::decode(Context& cx, const Tensor& latents) const {
  return decoder.forward(cx, nn::in_form(cx, latents));
}

int64_t AutoencoderTiny::scale_factor() const {
  return int64_t{1} << (config_.decoder_block_out_channels.size() - 1);
}

const nn::NetworkInfo& autoencoder_tiny_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderTiny",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<AutoencoderTiny>(read_autoencoder_tiny_config(json, where), json);
      },
      .summary = "the tiny autoencoder TAESD",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
  };
  return info;
}

}  // namespace omnirt
