#include "networks/krea2_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/krea2_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {

Krea2Transformer2DModel::Krea2Transformer2DModel(const Krea2Transformer2DConfig& config, Json json)
    : Transformer(std::move(json)),
      img_in(this, "img_in", config.in_channels, config.inner_dim()),
      time_embed(this, "time_embed", config.timestep_embed_dim, config.inner_dim()),
      time_mod_proj(this, "time_mod_proj", config.inner_dim(), 6 * config.inner_dim()),
      text_fusion(this, "text_fusion", config),
      txt_in(this, "txt_in", config.text_hidden_dim, config.inner_dim(), config.norm_eps),
      transformer_blocks(this, "transformer_blocks"),
      final_layer(this, "final_layer", config.inner_dim(), config.in_channels, config.norm_eps),
      config_(config) {
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config);
  set_blocks(transformer_blocks);
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
    return nn::rope_table(cx, positions.narrow(1, 0, 3), config_.axes_dims_rope,
                          config_.rope_theta);
  });
}

auto Krea2Transformer2DModel::enter(Context& cx, const Krea2Input& input) const -> Trunk {
  const Tensor& text = input.encoder_hidden_states;
  constexpr int64_t side = Krea2Transformer2DConfig::patch_side;
  nn::ensure_whole_tokens(text, input.sample, side);
  const Tensor latents = nn::packed_patches(input.sample, side);
  const int64_t height = latents.size(2), width = latents.size(3);
  Tensor embedded = time_embed.forward(cx, input.timestep.tensor.to(at::kFloat));
  Tensor activated = cx.ops().activate(cx, {embedded, ops::Activation::gelu_tanh});
  Tensor modulation =
      time_mod_proj.forward(cx, activated).view({embedded.size(0), 6, embedded.size(1)});
  nn::TokenStream tokens;
  tokens.image = img_in.forward(cx, nn::tokens_of(nn::in_form(cx, latents)));
  tokens.text = text_tokens(cx, text);
  const nn::TokenSpan image{tokens.text.size(1), height * width};
  return {.tokens = std::move(tokens),
          .axis = image,
          .call = {std::move(embedded), std::move(modulation), rotary(cx, text, height, width),
                   height, width}};
}

nn::TokenStream Krea2Transformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                               const Krea2Call& call) const {
  return {.image = transformer_blocks[i].forward(cx, x.image, call.modulation, call.rotary)};
}

Tensor Krea2Transformer2DModel::leave(Context& cx, const Tensor& tokens,
                                      const Krea2Call& call) const {
  const Tensor made = final_layer.forward(cx, tokens, call.embedded);
  return nn::unpacked_patches(nn::image_of(made, call.height, call.width),
                              Krea2Transformer2DConfig::patch_side);
}

const nn::NetworkInfo& krea2_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "Krea2Transformer2DModel",
      .make = nn::network_of<Krea2Transformer2DModel, read_krea2_transformer_2d_config>,
      .summary = "the diffusion transformer of Krea 2",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Krea 2's transformer (txtfusion.*, blocks.*.mod.lin)",
                       .config = krea2_original_config,
                       .layout = [](const auto&) { return std::string("krea2"); },
                       .prefixes = krea2_original_prefixes()},
      .gguf = {{"txtfusion.projector.", "krea2"}},
      .marks = {{"model.diffusion_model.txtfusion.", "a Krea 2 transformer"},
                {"txtfusion.", "a Krea 2 transformer"}},
  };
  return info;
}

}  // namespace omnirt
