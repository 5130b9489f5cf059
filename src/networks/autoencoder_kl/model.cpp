#include "networks/autoencoder_kl/model.hpp"

#include "networks/autoencoder_kl/ldm_config.hpp"
#include "networks/autoencoder_kl/ldm_layout.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

nn::AutoencoderOptions half(const AutoencoderKLConfig& config, int64_t image_channels) {
  return {.image_channels = image_channels,
          .latent_channels = config.latent_channels,
          .block_out_channels = config.block_out_channels,
          .layers_per_block = config.layers_per_block,
          .norm_groups = config.norm_num_groups,
          .activation = ops::activation_from_name(config.act_fn, "act_fn"),
          .mid_attention = config.mid_block_add_attention};
}

}  // namespace

AutoencoderKL::AutoencoderKL(const AutoencoderKLConfig& config, Json json)
    : Autoencoder(std::move(json)),
      encoder(this, "encoder", half(config, config.in_channels)),
      decoder(this, "decoder", half(config, config.out_channels)),
      config_(config) {
  int64_t z = config.latent_channels;
  if (config.use_quant_conv) quant_conv.emplace(this, "quant_conv", 2 * z, 2 * z, nn::conv1x1);
  if (config.use_post_quant_conv)
    post_quant_conv.emplace(this, "post_quant_conv", z, z, nn::conv1x1);
}

nn::Metadata AutoencoderKL::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"ResnetBlock2D"}});
}

std::vector<nn::OriginalLayout> AutoencoderKL::original_layouts() const {
  return {ldm_layout(*this)};
}

nn::WeightMap AutoencoderKL::weight_map() const {
  // Names of the attention's layers before diffusers 0.15, which published checkpoints still have.
  return {.renames = {{".attentions.0.query.", ".attentions.0.to_q."},
                      {".attentions.0.key.", ".attentions.0.to_k."},
                      {".attentions.0.value.", ".attentions.0.to_v."},
                      {".attentions.0.proj_attn.", ".attentions.0.to_out.0."}},
          .ignored = {}};
}

Tensor AutoencoderKL::moments(Context& cx, const Tensor& image) const {
  Tensor moments = encoder.forward(cx, nn::in_form(cx, image));
  return quant_conv ? quant_conv->forward(cx, moments) : moments;
}

nn::DiagonalGaussian AutoencoderKL::distribution(Context& cx, const Tensor& image) const {
  auto halves = moments(cx, image).chunk(2, 1);
  return {halves[0], halves[1]};
}

Tensor AutoencoderKL::encode(Context& cx, const Tensor& image, const nn::NoiseSource& noise) const {
  return from_moments(cx, moments(cx, image), noise);
}

Tensor AutoencoderKL::from_moments(Context& cx, const Tensor& moments,
                                   const nn::NoiseSource& noise) const {
  auto halves = moments.chunk(2, 1);
  nn::DiagonalGaussian latents{halves[0], halves[1]};
  return latents.sample(cx, noise(latents.mean.sizes()));
}

Tensor AutoencoderKL::decode(Context& cx, const Tensor& latents) const {
  Tensor z = nn::in_form(cx, latents);
  return decoder.forward(cx, post_quant_conv ? post_quant_conv->forward(cx, z) : z);
}

nn::LatentFactors AutoencoderKL::factors() const {
  return {.side = int64_t{1} << (config_.block_out_channels.size() - 1)};
}

const nn::NetworkInfo& autoencoder_kl_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderKL",
      .make = nn::network_of<AutoencoderKL, read_autoencoder_kl_config>,
      .summary = "the variational autoencoder of Stable Diffusion",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
      .from_tensors = {.signs = "an autoencoder of Stable Diffusion or FLUX.1 (encoder.down.* or "
                                "encoder.down_blocks.*)",
                       .config = autoencoder_kl_config_alone,
                       .layout = autoencoder_kl_layout_of,
                       .prefixes = {"", "first_stage_model.", "vae."},
                       .from_model = {"scaling_factor", "shift_factor", "force_upcast"},
                       .needs_first = true},
  };
  return info;
}

}  // namespace omnirt
