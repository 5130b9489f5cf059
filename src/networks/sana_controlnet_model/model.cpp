#include "networks/sana_controlnet_model/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {

SanaControlNetModel::SanaControlNetModel(const SanaControlNetConfig& config, Json json)
    : ControlNetwork(std::move(json)),
      patch_embed(this, "patch_embed", nn::sana_patches(config.transformer)),
      time_embed(this, "time_embed", config.transformer.inner_dim(), /*takes_size=*/false),
      caption_projection(this, "caption_projection", config.transformer.caption_channels,
                         config.transformer.inner_dim()),
      caption_norm(this, "caption_norm", config.transformer.inner_dim(), nn::sana_caption_norm_eps),
      transformer_blocks(this, "transformer_blocks"),
      controlnet_blocks(this, "controlnet_blocks"),
      input_block(this, "input_block", config.transformer.inner_dim(),
                  config.transformer.inner_dim()),
      config_(config.transformer) {
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    transformer_blocks.add(config_);
    controlnet_blocks.add(config_.inner_dim(), config_.inner_dim());
  }
}

nn::Metadata SanaControlNetModel::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"SanaTransformerBlock", "PatchEmbed"},
                                      .skip_layerwise_casting_patterns = {"patch_embed", "norm"},
                                      .repeated_blocks = {"SanaTransformerBlock"}});
}

nn::WeightMap SanaControlNetModel::weight_map() const {
  return {.renames = {}, .ignored = {"patch_embed.pos_embed"}};  // positions are computed
}

// The latents' tokens with those of the control image, which are made once per run.
Tensor SanaControlNetModel::tokens(Context& cx, const SanaControlInput& input) const {
  const Tensor& cond = input.controlnet_cond;
  Tensor control = cx.once(input_block.path(), cond, [&] {
    return input_block.forward(cx, patch_embed.forward(cx, nn::in_form(cx, cond)));
  });
  Tensor image = patch_embed.forward(cx, nn::in_form(cx, input.sample));
  return cx.ops().add(cx, {image, control});
}

nn::SanaContext SanaControlNetModel::context(Context& cx, const SanaControlInput& input) const {
  const Tensor& text = input.encoder_hidden_states;
  nn::SanaContext made;
  Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)}).contiguous();
  made.modulation = time_embed.forward(cx, {timestep, {}, {}}).modulation;
  made.grid = {input.sample.size(2) / config_.patch_size,
               input.sample.size(3) / config_.patch_size};
  made.text = cx.once(caption_norm.path(), text, [&] {
    return caption_norm.forward(cx, caption_projection.forward(cx, nn::in_form(cx, text)));
  });
  return made;
}

Values SanaControlNetModel::control(Context& cx, const Values& inputs) const {
  const auto input = nn::fill_inputs<SanaControlInput>(cx, inputs);
  const Tensor entered = tokens(cx, input);
  const nn::SanaContext shared = context(cx, input);
  Values made;
  nn::run_blocks(
      cx, transformer_blocks, {0, transformer_blocks.size()}, entered,
      [&](size_t i, const Tensor& x) { return transformer_blocks[i].forward(cx, x, shared); },
      [&](size_t i, const Tensor& x) {
        made[nn::sana_residuals].emplace_back(controlnet_blocks[i].forward(cx, x));
      });
  return made;
}

std::vector<nn::NetworkInput> SanaControlNetModel::inputs() const {
  return nn::input_names<SanaControlInput>();
}

std::vector<nn::ControlNetwork::Residuals> SanaControlNetModel::residuals() const {
  return {{nn::sana_residuals, controlnet_blocks.size(), nn::ResidualOrder::leading}};
}

const nn::NetworkInfo& sana_controlnet_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "SanaControlNetModel",
      .make = nn::network_of<SanaControlNetModel, read_sana_controlnet_config>,
      .summary = "a control image's way into Sana's transformer",
      .weights_base = "diffusion_pytorch_model",
      .role = "controlnet",
  };
  return info;
}

}  // namespace omnirt
