#include "networks/sana_transformer_2d_model/model.hpp"

#include "networks/sana_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
SanaTransformer2DModel::SanaTransformer2DModel(const SanaTransformer2DConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
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

std::vector<nn::NetworkInput> SanaTransformer2DModel::inputs() const {
  auto names = nn::input_names<SanaInput>();
  std::erase_if(names, [&](const nn::NetworkInput& input) {
    return !config_.guidance_embeds && input.name == "guidance";
  });
  return names;
}

std::vector<nn::ResidualSite> SanaTransformer2DModel::residual_sites() const {
  return {
      {nn::sana_residuals, transformer_blocks.size() - 1, config_.inner_dim(), config_.patch_size}};
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

Tensor SanaTransformer2DModel::forward(Context& cx, const SanaInput& input) const {
  Tensor h = patch_embed.forward(cx, nn::in_form(cx, input.sample));
  auto time = embedded_time(cx, input);
  nn::SanaContext shared{.text = {}, .modulation = time.modulation};
  shared.grid = {input.sample.size(2) / config_.patch_size,
                 input.sample.size(3) / config_.patch_size};
  // No step changes it.
  shared.text = cx.once("encoder_hidden_states", input.encoder_hidden_states, [&] {
    Tensor text = nn::in_form(cx, input.encoder_hidden_states);
    return caption_norm.forward(cx, caption_projection.forward(cx, text));
  });
  const std::vector<Tensor>& residuals = input.controlnet_block_samples;
  for (size_t i = 0; i < transformer_blocks.size(); ++i) {
    h = transformer_blocks[i].forward(cx, h, shared);
    // The first block has none (diffusers sana_transformer.py).
    if (i > 0 && i <= residuals.size()) h = nn::with_residual(cx, h, residuals, i - 1);
  }
  h = nn::normed_by_table(cx, norm_out.norm, h, cx[scale_shift_table], time.embedded);
  h = proj_out.forward(cx, h);
  return nn::image_of_patches(h, shared.grid[0], shared.grid[1], config_.patch_size);
}

Tensor SanaTransformer2DModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<SanaInput>(cx, inputs);
  const int64_t rows = input.sample.size(0);
  ensure(input.encoder_hidden_states.size(0) == rows, "{} rows of text for {} samples",
         input.encoder_hidden_states.size(0), rows);
  return forward(cx, input).narrow(1, 0, out_channels());
}

const nn::NetworkInfo& sana_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "SanaTransformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<SanaTransformer2DModel>(
            read_sana_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of Sana",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Sana's transformer (blocks.*.cross_attn.kv_linear.*, "
                                "blocks.*.mlp.inverted_conv.*)",
                       .config = sana_original_config,
                       .layout = [](const auto&) { return std::string("sana"); },
                       .prefixes = sana_original_prefixes()},
  };
  return info;
}

}  // namespace omnirt
