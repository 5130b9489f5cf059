#include "networks/sd3_transformer_2d_model/model.hpp"

#include "networks/sd3_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {

SD3Transformer2DModel::SD3Transformer2DModel(const SD3Transformer2DConfig& config, Json json)
    : Transformer(std::move(json)),
      pos_embed(this, "pos_embed", config),
      time_text_embed(this, "time_text_embed",
                      {.pooled = config.pooled_projection_dim, .out = config.inner_dim()}),
      context_embedder(this, "context_embedder", config.joint_attention_dim, config.inner_dim()),
      transformer_blocks(this, "transformer_blocks"),
      norm_out(this, "norm_out", config.inner_dim(), SD3Transformer2DConfig::eps),
      proj_out(this, "proj_out", config.inner_dim(),
               config.patch_size * config.patch_size * config.predicted_channels()),
      config_(config) {
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config, i);
  set_blocks(transformer_blocks);
}

nn::Metadata SD3Transformer2DModel::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"JointTransformerBlock"},
                                      .skip_layerwise_casting_patterns = {"pos_embed", "norm"},
                                      .repeated_blocks = {"JointTransformerBlock"}});
}

std::vector<nn::OriginalLayout> SD3Transformer2DModel::original_layouts() const {
  return {sd3_original_layout(config_.num_layers)};
}

auto SD3Transformer2DModel::enter(Context& cx, const SD3Input& input) const -> Trunk {
  const Tensor& text = input.encoder_hidden_states;
  const int64_t side = config_.patch_size;
  nn::ensure_whole_tokens(text, input.sample, side);
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
  Tensor temb = time_text_embed.forward(cx, timestep, nullptr, input.pooled_projections);
  SD3Call call{.activated = cx.ops().activate(cx, {temb, ops::Activation::silu}),
               .grid = {input.sample.size(2) / side, input.sample.size(3) / side}};
  nn::TokenStream tokens;
  tokens.text = context_embedder.forward_once(cx, text);
  tokens.image = pos_embed.forward(cx, nn::in_form(cx, input.sample), text);
  const nn::TokenSpan image{0, tokens.image.size(1)};
  return {.tokens = std::move(tokens), .axis = image, .call = std::move(call)};
}

nn::TokenStream SD3Transformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                             const SD3Call& call) const {
  return transformer_blocks[i].forward(cx, x, call.activated, call.grid);
}

Tensor SD3Transformer2DModel::leave(Context& cx, const Tensor& tokens, const SD3Call& call) const {
  const Tensor made = proj_out.forward(cx, norm_out.forward(cx, tokens, call.activated));
  return nn::image_of_patches(made, call.grid[0], call.grid[1], config_.patch_size);
}

Tensor SD3Transformer2DModel::image_tokens(Context& cx, const Values& inputs) const {
  return pos_embed.forward(cx, nn::in_form(cx, one(inputs, "sample")),
                           one(inputs, "encoder_hidden_states"));
}

const nn::NetworkInfo& sd3_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "SD3Transformer2DModel",
      .make = nn::network_of<SD3Transformer2DModel, read_sd3_transformer_2d_config>,
      .summary = "the diffusion transformer of Stable Diffusion 3 and 3.5",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Stable Diffusion 3's transformer (joint_blocks.*, y_embedder)",
                       .config = sd3_original_config,
                       .layout = [](const auto&) { return std::string("sd3"); },
                       .prefixes = sd3_original_prefixes()},
      .gguf = {{"joint_blocks.0.x_block.", "sd3"}},
      .marks = {{"model.diffusion_model.joint_blocks.", "a Stable Diffusion 3 transformer"},
                {"joint_blocks.", "a Stable Diffusion 3 transformer"}},
  };
  return info;
}

}  // namespace omnirt
