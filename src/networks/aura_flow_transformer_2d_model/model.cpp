#include "networks/aura_flow_transformer_2d_model/model.hpp"

#include "networks/aura_flow_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {
constexpr int64_t waves_dim = 256;
constexpr int64_t registers = 8;
constexpr double train_timesteps = 1000.0;

}  // namespace

AuraFlowTransformer2DModel::AuraFlowTransformer2DModel(const AuraFlowTransformer2DConfig& config,
                                                       Json json)
    : Transformer(std::move(json)),
      pos_embed(this, "pos_embed", config),
      context_embedder(this, "context_embedder", config.joint_attention_dim, config.inner_dim(),
                       false),
      time_step_proj(this, "time_step_proj", {.in = waves_dim, .out = config.inner_dim()}),
      joint_transformer_blocks(this, "joint_transformer_blocks"),
      single_transformer_blocks(this, "single_transformer_blocks"),
      norm_out(this, "norm_out", config.inner_dim()),
      proj_out(this, "proj_out", config.inner_dim(),
               config.patch_size * config.patch_size * config.out_channels, false),
      register_tokens(param("register_tokens", {1, registers, config.inner_dim()})),
      config_(config) {
  own(register_tokens);
  for (int64_t i = 0; i < config.num_mmdit_layers; ++i) joint_transformer_blocks.add(config);
  for (int64_t i = 0; i < config.num_single_dit_layers; ++i) single_transformer_blocks.add(config);
  set_blocks(joint_transformer_blocks, single_transformer_blocks);
}

nn::Metadata AuraFlowTransformer2DModel::metadata() const {
  return nn::feature_metadata(
      *this,
      {.no_split_modules = {"AuraFlowJointTransformerBlock", "AuraFlowSingleTransformerBlock",
                            "AuraFlowPatchEmbed"},
       .skip_layerwise_casting_patterns = {"pos_embed", "norm"},
       .repeated_blocks = {"AuraFlowJointTransformerBlock", "AuraFlowSingleTransformerBlock"}});
}

std::vector<nn::OriginalLayout> AuraFlowTransformer2DModel::original_layouts() const {
  return {aura_flow_original_layout()};
}

Tensor AuraFlowTransformer2DModel::activated_time(Context& cx, const AuraFlowInput& input) const {
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)}).contiguous();
  // The reference's pipeline divides, and the network multiplies.
  Tensor part = cx.ops().affine(cx, {timestep, 1.0 / train_timesteps, 0.0});
  Tensor time = cx.ops().affine(cx, {part, train_timesteps, 0.0});
  return cx.ops().activate(cx, {time_step_proj.embed(cx, time), ops::Activation::silu});
}

// No step changes it.
Tensor AuraFlowTransformer2DModel::embedded_text(Context& cx, const Tensor& text) const {
  return cx.once("context_embedder", text, [&] {
    Tensor embedded = context_embedder.forward(cx, nn::in_form(cx, text));
    Tensor first = cx[register_tokens].expand({text.size(0), registers, embedded.size(2)});
    return cx.ops().concat(cx, {first, embedded});
  });
}

auto AuraFlowTransformer2DModel::enter(Context& cx, const AuraFlowInput& input) const -> Trunk {
  const Tensor& text = input.encoder_hidden_states;
  const int64_t side = patch_size();
  nn::ensure_whole_tokens(text, input.sample, side);
  const int64_t height = input.sample.size(2) / side, width = input.sample.size(3) / side;
  ensure(height <= positions_side() && width <= positions_side(), "latents of {} x {}",
         input.sample.size(2), input.sample.size(3));
  Tensor activated = activated_time(cx, input);
  nn::TokenStream tokens{.text = embedded_text(cx, text)};
  tokens.image = pos_embed.forward(cx, nn::in_form(cx, input.sample), text);
  const nn::TokenSpan image{tokens.text.size(1), height * width};
  return {
      .tokens = std::move(tokens), .axis = image, .call = {std::move(activated), height, width}};
}

nn::TokenStream AuraFlowTransformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                                  const AuraFlowCall& call) const {
  const Tensor& activated = call.activated;
  const size_t single = joint_transformer_blocks.size();
  if (i < single) return joint_transformer_blocks[i].forward(cx, x, activated);
  return {.image = single_transformer_blocks[i - single].forward(cx, x.image, activated)};
}

Tensor AuraFlowTransformer2DModel::leave(Context& cx, const Tensor& tokens,
                                         const AuraFlowCall& call) const {
  const Tensor made = proj_out.forward(cx, norm_out.forward(cx, tokens, call.activated));
  return nn::image_of_patches(made, call.height, call.width, patch_size());
}

const nn::NetworkInfo& aura_flow_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "AuraFlowTransformer2DModel",
      .make = nn::network_of<AuraFlowTransformer2DModel, read_aura_flow_transformer_2d_config>,
      .summary = "the diffusion transformer of AuraFlow",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "AuraFlow's transformer (double_layers.*, single_layers.*)",
                       .config = aura_flow_original_config,
                       .layout = [](const auto&) { return std::string("aura_flow"); },
                       .prefixes = aura_flow_original_prefixes()},
      .gguf = {{"double_layers.0.modX.", "aura"}},
      .marks = {{"double_layers.0.attn.w1q.weight", "an AuraFlow transformer"}},
  };
  return info;
}

}  // namespace omnirt
