#include "networks/autoencoder_kl_qwen_image21/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {

AutoencoderKLQwenImage21::AutoencoderKLQwenImage21(const AutoencoderKLQwenImage21Config& config,
                                                   Json json)
    : Autoencoder(std::move(json)),
      encoder(this, "encoder", config),
      quant_conv(this, "quant_conv", 2 * config.z_dim, 2 * config.z_dim, 0, 1),
      post_quant_conv(this, "post_quant_conv", config.z_dim, config.z_dim, 0, 1),
      decoder(this, "decoder", config),
      config_(config) {}

nn::Metadata AutoencoderKLQwenImage21::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"QwenImageResidualBlock"}});
}

nn::DiagonalGaussian AutoencoderKLQwenImage21::distribution(Context& cx,
                                                            const Tensor& image) const {
  Tensor moments = quant_conv.forward(cx, encoder.forward(cx, nn::in_form(cx, image)));
  auto halves = moments.chunk(2, 1);
  return {halves[0], halves[1]};
}

Tensor AutoencoderKLQwenImage21::encode(Context& cx, const Tensor& image,
                                        const nn::NoiseSource& noise) const {
  nn::DiagonalGaussian latents = distribution(cx, image);
  Tensor drawn = latents.sample(cx, noise(latents.mean.sizes()));
  return nn::normalised_channels(cx, drawn, config_.latents_mean, config_.latents_std);
}

Tensor AutoencoderKLQwenImage21::decode(Context& cx, const Tensor& latents) const {
  Tensor z =
      nn::scaled_channels(cx, nn::in_form(cx, latents), config_.latents_std, config_.latents_mean);
  return decoder.forward(cx, post_quant_conv.forward(cx, nn::in_form(cx, z)));
}

const nn::NetworkInfo& autoencoder_kl_qwen_image21_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderKLQwenImage21",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<AutoencoderKLQwenImage21>(
            read_autoencoder_kl_qwen_image21_config(json, where), json);
      },
      .summary = "the variational autoencoder of Qwen-Image 2.1, of images with an alpha channel",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
  };
  return info;
}

}  // namespace omnirt
