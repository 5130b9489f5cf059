#include "networks/autoencoder_dc/model.hpp"

#include "networks/autoencoder_dc/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {

AutoencoderDC::AutoencoderDC(const AutoencoderDCConfig& config, Json json)
    : Autoencoder(std::move(json)),
      encoder(this, "encoder", config),
      decoder(this, "decoder", config),
      config_(config) {}

nn::Metadata AutoencoderDC::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"ResBlock", "EfficientViTBlock"}});
}

std::vector<nn::OriginalLayout> AutoencoderDC::original_layouts() const {
  return {dc_autoencoder_layout(config_)};
}

Tensor AutoencoderDC::encode(Context& cx, const Tensor& image,
                             const nn::NoiseSource& /*noise*/) const {
  return encoder.forward(cx, nn::in_form(cx, image));
}

Tensor AutoencoderDC::decode(Context& cx, const Tensor& latents) const {
  return decoder.forward(cx, nn::in_form(cx, latents));
}

const nn::NetworkInfo& autoencoder_dc_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderDC",
      .make = nn::network_of<AutoencoderDC, read_autoencoder_dc_config>,
      .summary = "the deep compression autoencoder of Sana",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
      .from_tensors = {.signs = "Sana's autoencoder (encoder.stages.*.op_list.*)",
                       .config = dc_autoencoder_config,
                       .layout = [](const auto&) { return std::string("dc-ae"); },
                       .prefixes = {"", "vae.", "first_stage_model."}},
      .marks = {{"encoder.stages.0.op_list.", "an autoencoder of Sana alone"}},
  };
  return info;
}

}  // namespace omnirt
