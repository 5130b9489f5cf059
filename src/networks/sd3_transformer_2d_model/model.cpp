#include "networks/sd3_transformer_2d_model/model.hpp"

#include <algorithm>

#include "networks/sd3_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {

SD3Transformer2DModel::SD3Transformer2DModel(const SD3Transformer2DConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
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
}

nn::Metadata SD3Transformer2DModel::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"JointTransformerBlock"},
                                      .skip_layerwise_casting_patterns = {"pos_embed", "norm"},
                                      .repeated_blocks = {"JointTransformerBlock"}});
}

std::vector<nn::OriginalLayout> SD3Transformer2DModel::original_layouts() const {
  return {sd3_original_layout(config_.num_layers)};
}

Tensor SD3Transformer2DModel::through_blocks(Context& cx, const SD3Input& input, nn::TextAndImage x,
                                             const Tensor& activated) const {
  const size_t blocks = transformer_blocks.size(), head = std::min<size_t>(1, blocks);
  const nn::SD3Grid grid{input.sample.size(2) / config_.patch_size,
                         input.sample.size(3) / config_.patch_size};
  auto go = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      x = transformer_blocks[i].forward(cx, x, activated, grid);
      if (i + 1 < blocks)
        x.image = nn::with_residual(cx, x.image, input.block_controlnet_hidden_states, i);
    }
    return x.image;
  };
  const Tensor hidden = cx.block_cache() ? x.image : Tensor();
  return cx.cached_blocks(
      "blocks", hidden, [&] { return go(0, head); }, [&] { return go(head, blocks); });
}

Tensor SD3Transformer2DModel::patches(Context& cx, const SD3Input& input) const {
  const Tensor& told = input.encoder_hidden_states;
  const int64_t rows = input.sample.size(0);
  Tensor timestep = input.timestep.to(at::kFloat).expand({rows});
  Tensor temb = time_text_embed.forward(cx, timestep, nullptr, input.pooled_projections);
  Tensor activated = cx.ops().activate(cx, {temb, ops::Activation::silu});
  nn::TextAndImage streams;
  streams.text = cx.once(context_embedder.path(), told,
                         [&] { return context_embedder.forward(cx, nn::in_form(cx, told)); });
  streams.image = pos_embed.forward(cx, nn::in_form(cx, input.sample), told);
  Tensor h = through_blocks(cx, input, std::move(streams), activated);
  return proj_out.forward(cx, norm_out.forward(cx, h, activated));
}

Tensor SD3Transformer2DModel::predict(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<SD3Input>(cx, inputs);
  const int64_t rows = input.sample.size(0), side = config_.patch_size;
  const int64_t height = input.sample.size(2) / side, width = input.sample.size(3) / side;
  ensure(input.encoder_hidden_states.size(0) == rows, "{} rows of text for {} samples",
         input.encoder_hidden_states.size(0), rows);
  ensure(input.sample.size(2) % side == 0 && input.sample.size(3) % side == 0,
         "latents of {}x{} are no whole tokens", input.sample.size(3), input.sample.size(2));
  const Tensor made = cx.predicted_output(proj_out.path(), [&] { return patches(cx, input); });
  return nn::image_of_patches(made, height, width, side);
}

Tensor SD3Transformer2DModel::image_tokens(Context& cx, const Values& inputs) const {
  return pos_embed.forward(cx, nn::in_form(cx, one(inputs, "sample")),
                           one(inputs, "encoder_hidden_states"));
}

const nn::NetworkInfo& sd3_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "SD3Transformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<SD3Transformer2DModel>(read_sd3_transformer_2d_config(json, where),
                                                       json);
      },
      .summary = "the diffusion transformer of Stable Diffusion 3 and 3.5",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Stable Diffusion 3's transformer (joint_blocks.*, y_embedder)",
                       .config = sd3_original_config,
                       .layout = [](const auto&) { return std::string("sd3"); },
                       .prefixes = sd3_original_prefixes()},
  };
  return info;
}

}  // namespace omnirt
