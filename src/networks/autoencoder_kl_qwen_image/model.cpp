#include "networks/autoencoder_kl_qwen_image/model.hpp"

#include "networks/autoencoder_kl_qwen_image/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {

AutoencoderKLQwenImage::AutoencoderKLQwenImage(const AutoencoderKLQwenImageConfig& config,
                                               Json json)
    : Autoencoder(std::move(json)),
      encoder(this, "encoder", config),
      quant_conv(this, "quant_conv", 2 * config.z_dim, 2 * config.z_dim, 1, 1),
      post_quant_conv(this, "post_quant_conv", config.z_dim, config.z_dim, 1, 1),
      decoder(this, "decoder", config),
      config_(config) {}

nn::Metadata AutoencoderKLQwenImage::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"QwenImageResidualBlock"}});
}

std::vector<nn::OriginalLayout> AutoencoderKLQwenImage::original_layouts() const {
  return {wan_autoencoder_layout(config_)};
}

nn::DiagonalGaussian AutoencoderKLQwenImage::distribution(Context& cx, const Tensor& image) const {
  Tensor moments = quant_conv.forward(cx, encoder.forward(cx, nn::in_form(cx, image)));
  auto halves = moments.chunk(2, 1);
  return {halves[0], halves[1]};
}

Tensor AutoencoderKLQwenImage::encode(Context& cx, const Tensor& image,
                                      const nn::NoiseSource& noise) const {
  nn::DiagonalGaussian latents = distribution(cx, image);
  Tensor drawn = latents.sample(cx, noise(latents.mean.sizes()));
  return nn::normalised_channels(cx, drawn, config_.latents_mean, config_.latents_std);
}

Tensor AutoencoderKLQwenImage::decode(Context& cx, const Tensor& latents) const {
  Tensor z =
      nn::scaled_channels(cx, nn::in_form(cx, latents), config_.latents_std, config_.latents_mean);
  return decoder.forward(cx, post_quant_conv.forward(cx, nn::in_form(cx, z)));
}

const nn::NetworkInfo& autoencoder_kl_qwen_image_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderKLQwenImage",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<AutoencoderKLQwenImage>(
            read_autoencoder_kl_qwen_image_config(json, where), json);
      },
      .summary = "the variational autoencoder of Qwen-Image",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
      .from_tensors = {.signs = "Qwen-Image's or Wan 2.1's autoencoder (encoder.downsamples.*, "
                                "decoder.upsamples.*)",
                       .config = wan_autoencoder_config,
                       .layout = [](const auto&) { return std::string("wan"); }},
  };
  return info;
}

}  // namespace omnirt
