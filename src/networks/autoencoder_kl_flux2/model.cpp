#include "networks/autoencoder_kl_flux2/model.hpp"

#include "networks/autoencoder_kl_flux2/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

nn::AutoencoderOptions half(const AutoencoderKLFlux2Config& config, int64_t image_channels,
                            const std::vector<int64_t>& channels) {
  return {.image_channels = image_channels,
          .latent_channels = config.latent_channels,
          .block_out_channels = channels,
          .layers_per_block = config.layers_per_block,
          .norm_groups = config.norm_num_groups,
          .activation = ops::activation_from_name(config.act_fn, "act_fn"),
          .mid_attention = config.mid_block_add_attention};
}

}  // namespace

LatentStatistics::LatentStatistics(Module* parent, const std::string& name, int64_t channels,
                                   double eps)
    : Module(parent, name),
      running_mean(param("running_mean", {channels})),
      running_var(param("running_var", {channels})),
      eps_(eps) {
  own(running_mean);
  own(running_var);
}

Tensor LatentStatistics::normalised(Context& cx, const Tensor& latents) const {
  return cx.ops().batch_norm(cx, {latents, cx[running_mean], cx[running_var], eps_});
}

Tensor LatentStatistics::restored(Context& cx, const Tensor& latents) const {
  return cx.ops().batch_norm(cx, {latents, cx[running_mean], cx[running_var], eps_, true});
}

AutoencoderKLFlux2::AutoencoderKLFlux2(const AutoencoderKLFlux2Config& config, Json json)
    : Autoencoder(std::move(json)),
      encoder(this, "encoder", half(config, config.in_channels, config.block_out_channels)),
      decoder(this, "decoder", half(config, config.out_channels, config.decoder_channels())),
      bn(this, "bn", nn::patch_side * nn::patch_side * config.latent_channels,
         config.batch_norm_eps),
      config_(config) {
  int64_t z = config.latent_channels;
  if (config.use_quant_conv) quant_conv.emplace(this, "quant_conv", 2 * z, 2 * z, nn::conv1x1);
  if (config.use_post_quant_conv)
    post_quant_conv.emplace(this, "post_quant_conv", z, z, nn::conv1x1);
}

nn::Metadata AutoencoderKLFlux2::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"ResnetBlock2D"}});
}

nn::WeightMap AutoencoderKLFlux2::weight_map() const {
  return {.renames = {}, .ignored = {"bn.num_batches_tracked"}};
}

std::vector<nn::OriginalLayout> AutoencoderKLFlux2::original_layouts() const {
  return {flux2_autoencoder_layout(*this)};
}

Tensor AutoencoderKLFlux2::moments(Context& cx, const Tensor& image) const {
  Tensor moments = encoder.forward(cx, nn::in_form(cx, image));
  return quant_conv ? quant_conv->forward(cx, moments) : moments;
}

nn::DiagonalGaussian AutoencoderKLFlux2::distribution(Context& cx, const Tensor& image) const {
  auto halves = moments(cx, image).chunk(2, 1);
  return {halves[0], halves[1]};
}

Tensor AutoencoderKLFlux2::encode(Context& cx, const Tensor& image,
                                  const nn::NoiseSource& noise) const {
  return from_moments(cx, moments(cx, image), noise);
}

Tensor AutoencoderKLFlux2::from_moments(Context& cx, const Tensor& moments,
                                        const nn::NoiseSource& /*noise*/) const {
  return bn.normalised(cx, nn::packed_patches(moments.chunk(2, 1)[0]));
}

Tensor AutoencoderKLFlux2::decode(Context& cx, const Tensor& latents) const {
  Tensor z = nn::in_form(cx, nn::unpacked_patches(bn.restored(cx, nn::in_form(cx, latents))));
  return decoder.forward(cx, post_quant_conv ? post_quant_conv->forward(cx, z) : z);
}

nn::LatentFactors AutoencoderKLFlux2::factors() const {
  return {.side = nn::patch_side << (config_.block_out_channels.size() - 1)};
}

const nn::NetworkInfo& autoencoder_kl_flux2_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderKLFlux2",
      .make = nn::network_of<AutoencoderKLFlux2, read_autoencoder_kl_flux2_config>,
      .summary = "the variational autoencoder of FLUX.2",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
      .from_tensors = {.signs = "FLUX.2's autoencoder (bn.*, encoder.down.*, decoder.up.*)",
                       .config = flux2_autoencoder_config,
                       .layout = [](const auto&) { return std::string("flux2"); }},
  };
  return info;
}

}  // namespace omnirt
