#include "networks/autoencoder_kl_temporal_decoder/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {

AutoencoderKLTemporalDecoder::AutoencoderKLTemporalDecoder(
    const AutoencoderKLTemporalDecoderConfig& config, Json json)
    : Autoencoder(std::move(json)),
      encoder(this, "encoder", autoencoder_options(config)),
      decoder(this, "decoder", config),
      quant_conv(this, "quant_conv", 2 * config.latent_channels, 2 * config.latent_channels,
                 nn::conv1x1),
      config_(config) {}

nn::Metadata AutoencoderKLTemporalDecoder::metadata() const {
  return nn::feature_metadata(*this,
                              {.no_split_modules = {"ResnetBlock2D", "SpatioTemporalResBlock"}});
}

nn::DiagonalGaussian AutoencoderKLTemporalDecoder::distribution(Context& cx,
                                                                const Tensor& image) const {
  Tensor moments = quant_conv.forward(cx, encoder.forward(cx, nn::in_form(cx, image)));
  auto halves = moments.chunk(2, 1);
  return {halves[0], halves[1]};
}

Tensor AutoencoderKLTemporalDecoder::encode(Context& cx, const Tensor& image,
                                            const nn::NoiseSource& noise) const {
  nn::DiagonalGaussian latents = distribution(cx, image);
  return latents.sample(cx, noise(latents.mean.sizes()));
}

Tensor AutoencoderKLTemporalDecoder::decode(Context& cx, const Tensor& latents) const {
  return decoder.forward(cx, nn::in_form(cx, latents));
}

nn::LatentFactors AutoencoderKLTemporalDecoder::factors() const {
  return {.side = int64_t{1} << (config_.block_out_channels.size() - 1)};
}

const nn::NetworkInfo& autoencoder_kl_temporal_decoder_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderKLTemporalDecoder",
      .make =
          nn::network_of<AutoencoderKLTemporalDecoder, read_autoencoder_kl_temporal_decoder_config>,
      .summary = "the autoencoder of Stable Video Diffusion",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
  };
  return info;
}

}  // namespace omnirt
