#include "networks/sana_transformer_2d_model/model.hpp"

#include "networks/sana_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
SanaTransformer2DModel::SanaTransformer2DModel(const SanaTransformer2DConfig& config, Json json)
    : Transformer(std::move(json)),
      patch_embed(this, "patch_embed", nn::sana_patches(config)),
      caption_projection(this, "caption_projection", config.caption_channels, config.inner_dim()),
      caption_norm(this, "caption_norm", config.inner_dim(), nn::sana_caption_norm_eps),
      transformer_blocks(this, "transformer_blocks"),
      scale_shift_table(param("scale_shift_table", {2, config.inner_dim()})),
      norm_out(this, "norm_out", config.inner_dim()),
      proj_out(this, "proj_out", config.inner_dim(),
               config.patch_size * config.patch_size * config.predicted_channels()),
      config_(config) {
  own(scale_shift_table);
  if (config.guidance_embeds)
    guided_time_embed.emplace(this, "time_embed", config.inner_dim());
  else
    time_embed.emplace(this, "time_embed", config.inner_dim(), /*takes_size=*/false);
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config);
  set_blocks(transformer_blocks);
}

nn::Metadata SanaTransformer2DModel::metadata() const {
  return nn::feature_metadata(
      *this, {.no_split_modules = {"SanaTransformerBlock", "PatchEmbed", "SanaModulatedNorm"},
              .skip_layerwise_casting_patterns = {"patch_embed", "norm"},
              .repeated_blocks = {"SanaTransformerBlock"}});
}

nn::WeightMap SanaTransformer2DModel::weight_map() const {
  return {.renames = {}, .ignored = {"patch_embed.pos_embed"}};  // positions are computed
}

std::vector<nn::OriginalLayout> SanaTransformer2DModel::original_layouts() const {
  return {sana_original_layout()};
}

int64_t SanaTransformer2DModel::out_channels() const {
  const int64_t predicted = predicted_channels();
  return predicted / 2 == config_.in_channels ? config_.in_channels : predicted;
}

std::vector<nn::ResidualSite> SanaTransformer2DModel::residual_sites() const {
  // The first block has none (diffusers sana_transformer.py).
  return {{.input = nn::sana_residuals,
           .blocks = transformer_blocks.size() - 1,
           .dim = config_.inner_dim(),
           .patch = config_.patch_size,
           .first_block = 1}};
}

nn::AdaLayerNormSingle::Result SanaTransformer2DModel::embedded_time(Context& cx,
                                                                     const SanaInput& input) const {
  const int64_t rows = input.sample.size(0);
  auto scaled = [&](const Tensor& numbers, double scale) {
    Tensor each = numbers.to(at::kFloat).expand({rows}).contiguous();
    return cx.ops().affine(cx, {each, scale, 0.0});
  };
  Tensor timestep = scaled(input.timestep, timestep_scale());
  if (time_embed) return time_embed->forward(cx, {timestep, {}, {}});
  ensure(input.guidance.has_value(), "{} needs the guidance scale", class_name());
  return guided_time_embed->forward(cx, timestep,
                                    scaled(*input.guidance, config_.guidance_embeds_scale));
}

auto SanaTransformer2DModel::enter(Context& cx, const SanaInput& input) const -> Trunk {
  const int64_t side = config_.patch_size;
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, side);
  nn::TokenStream tokens{.image = patch_embed.forward(cx, nn::in_form(cx, input.sample))};
  auto time = embedded_time(cx, input);
  nn::SanaContext call{.text = {},
                       .modulation = time.modulation,
                       .grid = {input.sample.size(2) / side, input.sample.size(3) / side},
                       .embedded = time.embedded};
  // No step changes it.
  call.text = cx.once("encoder_hidden_states", input.encoder_hidden_states, [&] {
    Tensor text = nn::in_form(cx, input.encoder_hidden_states);
    return caption_norm.forward(cx, caption_projection.forward(cx, text));
  });
  const nn::TokenSpan image{0, tokens.image.size(1)};
  return {.tokens = std::move(tokens), .axis = image, .call = std::move(call)};
}

nn::TokenStream SanaTransformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                              const nn::SanaContext& call) const {
  return {.image = transformer_blocks[i].forward(cx, x.image, call)};
}

Tensor SanaTransformer2DModel::leave(Context& cx, const Tensor& tokens,
                                     const nn::SanaContext& call) const {
  Tensor h = nn::normed_by_table(cx, norm_out.norm, tokens, cx[scale_shift_table], call.embedded);
  h = proj_out.forward(cx, h);
  const auto [height, width] = call.grid;
  return nn::image_of_patches(h, height, width, config_.patch_size).narrow(1, 0, out_channels());
}

const nn::NetworkInfo& sana_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "SanaTransformer2DModel",
      .make = nn::network_of<SanaTransformer2DModel, read_sana_transformer_2d_config>,
      .summary = "the diffusion transformer of Sana",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Sana's transformer (blocks.*.cross_attn.kv_linear.*, "
                                "blocks.*.mlp.inverted_conv.*)",
                       .config = sana_original_config,
                       .layout = [](const auto&) { return std::string("sana"); },
                       .prefixes = sana_original_prefixes()},
      .gguf = {{"blocks.0.cross_attn.kv_linear.", "sana"}},
      .marks = {{"model.diffusion_model.blocks.0.cross_attn.kv_linear.", "a Sana transformer"},
                {"blocks.0.cross_attn.kv_linear.", "a Sana transformer"}},
  };
  return info;
}

}  // namespace omnirt
