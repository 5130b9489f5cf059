#include "networks/krea2_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/krea2_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {

Krea2Transformer2DModel::Krea2Transformer2DModel(const Krea2Transformer2DConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
      img_in(this, "img_in", config.in_channels, config.inner_dim()),
      time_embed(this, "time_embed", config.timestep_embed_dim, config.inner_dim()),
      time_mod_proj(this, "time_mod_proj", config.inner_dim(), 6 * config.inner_dim()),
      text_fusion(this, "text_fusion", config),
      txt_in(this, "txt_in", config.text_hidden_dim, config.inner_dim(), config.norm_eps),
      transformer_blocks(this, "transformer_blocks"),
      final_layer(this, "final_layer", config.inner_dim(), config.in_channels, config.norm_eps),
      config_(config) {
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config);
}

nn::Metadata Krea2Transformer2DModel::metadata() const {
  return nn::feature_metadata(
      *this,
      {.no_split_modules = {"Krea2TransformerBlock", "Krea2TextFusionBlock", "Krea2FinalLayer"},
       .skip_layerwise_casting_patterns = {"time_embed", "norm"},
       .repeated_blocks = {"Krea2TransformerBlock"}});
}

std::vector<nn::OriginalLayout> Krea2Transformer2DModel::original_layouts() const {
  return {krea2_original_layout()};
}

int64_t Krea2Transformer2DModel::in_channels() const {
  return config_.in_channels / Krea2Transformer2DConfig::latents_of_a_token;
}

// No step changes it.
Tensor Krea2Transformer2DModel::text_tokens(Context& cx, const Tensor& text) const {
  return cx.once(text_fusion.path(), text, [&] {
    return txt_in.forward(cx, text_fusion.forward(cx, nn::in_form(cx, text)));
  });
}

// {2, T + L, head_dim / 2}: a text's tokens share one position.
Tensor Krea2Transformer2DModel::rotary(Context& cx, const Tensor& text, int64_t height,
                                       int64_t width) const {
  return cx.once(fmt::format("rotary {}x{}", height, width), text, [&] {
    Tensor positions = cx.ops().token_positions(cx, {text, text.size(1), height, width});
    Tensor without_place = positions.narrow(1, 0, 3);
    return cx.ops().rotary_table(cx, {.x = without_place,
                                      .axes = config_.axes_dims_rope,
                                      .theta = config_.rope_theta,
                                      .angles_in_fp64 = true});
  });
}

Tensor Krea2Transformer2DModel::through_blocks(Context& cx, const Tensor& text, const Tensor& image,
                                               const Tensor& modulation,
                                               const Tensor& table) const {
  const int64_t before = text.size(1), tokens = image.size(1);
  Tensor h;
  auto through = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) h = transformer_blocks[i].forward(cx, h, modulation, table);
    return h.narrow(1, before, tokens);
  };
  const Tensor hidden = cx.block_cache() ? image : Tensor();
  return cx.cached_blocks(
      "blocks", hidden,
      [&] {
        h = cx.ops().concat(cx, {text, image});
        return through(0, 1);
      },
      [&] { return through(1, transformer_blocks.size()); });
}

Tensor Krea2Transformer2DModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<Krea2Input>(cx, inputs);
  const Tensor& text = input.encoder_hidden_states;
  ensure(text.size(0) == input.sample.size(0), "{} rows of text for {} samples", text.size(0),
         input.sample.size(0));
  constexpr int64_t side = Krea2Transformer2DConfig::patch_side;
  ensure(input.sample.size(2) % side == 0 && input.sample.size(3) % side == 0,
         "latents of {}x{} are no whole tokens", input.sample.size(3), input.sample.size(2));
  Tensor latents = nn::packed_patches(input.sample, side);
  const int64_t height = latents.size(2), width = latents.size(3);
  const Tensor made = cx.predicted_output(final_layer.path(), [&] {
    Tensor embedded = time_embed.forward(cx, input.timestep.tensor.to(at::kFloat));
    Tensor activated = cx.ops().activate(cx, {embedded, ops::Activation::gelu_tanh});
    Tensor modulation =
        time_mod_proj.forward(cx, activated).view({embedded.size(0), 6, embedded.size(1)});
    Tensor image = img_in.forward(cx, nn::tokens_of(nn::in_form(cx, latents)));
    Tensor h = through_blocks(cx, text_tokens(cx, text), image, modulation,
                              rotary(cx, text, height, width));
    return final_layer.forward(cx, h, embedded);
  });
  return nn::unpacked_patches(nn::image_of(made, height, width), side);
}

const nn::NetworkInfo& krea2_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "Krea2Transformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<Krea2Transformer2DModel>(
            read_krea2_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of Krea 2",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Krea 2's transformer (txtfusion.*, blocks.*.mod.lin)",
                       .config = krea2_original_config,
                       .layout = [](const auto&) { return std::string("krea2"); },
                       .prefixes = krea2_original_prefixes()},
  };
  return info;
}

}  // namespace omnirt
