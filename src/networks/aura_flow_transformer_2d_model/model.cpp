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
    : DenoiserNetwork(std::move(json)),
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
  Tensor waves = cx.ops().timestep_embedding(
      cx, {time, waves_dim, /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
  Tensor embedded = time_step_proj.forward(cx, nn::in_form(cx, waves), nullptr);
  return cx.ops().activate(cx, {embedded, ops::Activation::silu});
}

// No step changes it.
Tensor AuraFlowTransformer2DModel::embedded_text(Context& cx, const Tensor& text) const {
  return cx.once("context_embedder", text, [&] {
    Tensor embedded = context_embedder.forward(cx, nn::in_form(cx, text));
    Tensor first = cx[register_tokens].expand({text.size(0), registers, embedded.size(2)});
    return cx.ops().concat(cx, {first, embedded});
  });
}

Tensor AuraFlowTransformer2DModel::image_after_blocks(Context& cx, nn::TextAndImage streams,
                                                      const Tensor& activated) const {
  for (size_t i = 0; i < joint_transformer_blocks.size(); ++i)
    streams = joint_transformer_blocks[i].forward(cx, streams, activated);
  if (single_transformer_blocks.empty()) return streams.image;
  Tensor both = cx.ops().concat(cx, {streams.text, streams.image});
  for (size_t i = 0; i < single_transformer_blocks.size(); ++i)
    both = single_transformer_blocks[i].forward(cx, both, activated);
  return both.narrow(1, streams.text.size(1), streams.image.size(1));
}

Tensor AuraFlowTransformer2DModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<AuraFlowInput>(cx, inputs);
  const int64_t side = patch_size(), rows = input.sample.size(0);
  const int64_t height = input.sample.size(2) / side, width = input.sample.size(3) / side;
  ensure(input.encoder_hidden_states.size(0) == rows, "{} rows of text for {} samples",
         input.encoder_hidden_states.size(0), rows);
  ensure(input.sample.size(2) % side == 0 && input.sample.size(3) % side == 0 &&
             height <= positions_side() && width <= positions_side(),
         "latents of {} x {}", input.sample.size(2), input.sample.size(3));
  const Tensor& text = input.encoder_hidden_states;
  Tensor activated = activated_time(cx, input);
  Tensor h =
      image_after_blocks(cx,
                         {.text = embedded_text(cx, text),
                          .image = pos_embed.forward(cx, nn::in_form(cx, input.sample), text)},
                         activated);
  h = proj_out.forward(cx, norm_out.forward(cx, h, activated));
  return nn::image_of_patches(h, height, width, side);
}

const nn::NetworkInfo& aura_flow_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "AuraFlowTransformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<AuraFlowTransformer2DModel>(
            read_aura_flow_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of AuraFlow",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "AuraFlow's transformer (double_layers.*, single_layers.*)",
                       .config = aura_flow_original_config,
                       .layout = [](const auto&) { return std::string("aura_flow"); },
                       .prefixes = aura_flow_original_prefixes()},
  };
  return info;
}

}  // namespace omnirt
