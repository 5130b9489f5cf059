#include "networks/qwen_image21_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/qwen_image21_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/optional_inputs.hpp"

namespace omnirt {

QwenImage21Transformer2DModel::QwenImage21Transformer2DModel(
    const QwenImage21Transformer2DConfig& config, Json json)
    : DenoiserNetwork(std::move(json)),
      time_text_embed(this, "time_text_embed", config.inner_dim(), /*additional=*/false,
                      /*bias=*/false),
      txt_in(this, "txt_in", config.context_in_dim, config.inner_dim(), config.eps),
      img_in(this, "img_in", config.in_channels, config.inner_dim(), false),
      modulation(this, "modulation"),
      transformer_blocks(this, "transformer_blocks"),
      norm_out(this, "norm_out", config.inner_dim(), config.eps),
      proj_out(this, "proj_out", config.inner_dim(), config.predicted_channels(), false),
      config_(config) {
  modulation.add_at(1, config.inner_dim(), 4 * config.inner_dim(), false);
  for (int64_t i = 0; i < config.num_layers; ++i) transformer_blocks.add(config);
}

nn::Metadata QwenImage21Transformer2DModel::metadata() const {
  // The reference names pos_embed as well, which has no weights to cast.
  return nn::feature_metadata(*this, {.no_split_modules = {"QwenImage21TransformerBlock"},
                                      .skip_layerwise_casting_patterns = {"norm"},
                                      .repeated_blocks = {"QwenImage21TransformerBlock"}});
}

std::vector<nn::OriginalLayout> QwenImage21Transformer2DModel::original_layouts() const {
  return qwen_image21_layouts();
}

Tensor QwenImage21Transformer2DModel::activated(Context& cx, const Tensor& timestep) const {
  Tensor embedded = time_text_embed.forward(cx, timestep);
  return cx.ops().activate(cx, {embedded, ops::Activation::silu});
}

QwenImage21Modulation QwenImage21Transformer2DModel::of_text(
    Context& cx, const QwenImage21Input& input, const QwenImage21Modulation& of_sample) const {
  if (!config_.causal_condition) return of_sample;
  const Tensor all = cx.once("modulation of text", input.encoder_hidden_states, [&] {
    const Tensor one = input.timestep.tensor.to(at::kFloat).narrow(0, 0, 1);
    const Tensor none = cx.ops().affine(cx, {one, 0.0, 0.0});
    return modulation[0].forward(cx, activated(cx, none));
  });
  return QwenImage21Modulation::of(cx, all);
}

Tensor QwenImage21Transformer2DModel::through_blocks(Context& cx, const Tensor& image,
                                                     const QwenImage21Modulation& by,
                                                     const QwenImage21Places& at,
                                                     nn::KeptTokens& text) const {
  Tensor h = image;
  auto through = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i)
      h = transformer_blocks[i].forward(cx, h, by, at, [&] { return text.of(i); });
    return h;
  };
  const Tensor hidden = cx.block_cache() ? image : Tensor();
  return cx.cached_blocks(
      "blocks", hidden, [&] { return through(0, 1); },
      [&] { return through(1, transformer_blocks.size()); });
}

nn::KeptTokens QwenImage21Transformer2DModel::ahead(Context& cx, const QwenImage21Input& input,
                                                    const Tensor& tokens,
                                                    const QwenImage21Modulation& by) const {
  const QwenImage21Places at = prefix_places(cx, input);
  std::vector<nn::KeptTokens::Block> blocks;
  for (size_t i = 0; i < transformer_blocks.size(); ++i) {
    const QwenImage21TransformerBlock& block = transformer_blocks[i];
    auto read = [&cx, &block, by, at](const Tensor& x, nn::KeysAndValues& made, bool keys_alone) {
      return block.read_text(cx, x, by, at, made, keys_alone);
    };
    blocks.push_back({.path = block.path(), .read = read});
  }
  return {cx, std::move(blocks), {input.encoder_hidden_states, tokens, config_.causal_condition}};
}

Tensor QwenImage21Transformer2DModel::predicted(Context& cx, const QwenImage21Input& input) const {
  const Tensor at_time = activated(cx, input.timestep.tensor.to(at::kFloat));
  const auto by = QwenImage21Modulation::of(cx, modulation[0].forward(cx, at_time));
  const QwenImage21Modulation by_text = of_text(cx, input, by);
  const Tensor image = img_in.forward(cx, nn::tokens_of(nn::in_form(cx, input.sample)));
  const Tensor tokens = prefix(cx, input);
  nn::KeptTokens text = ahead(cx, input, tokens, by_text);
  const Tensor made = through_blocks(cx, image, by, image_places(cx, input, tokens, image), text);
  return proj_out.forward(cx, norm_out.forward(cx, made, at_time));
}

std::vector<nn::NetworkInput> QwenImage21Transformer2DModel::inputs() const {
  return nn::with_optional_inputs<QwenImage21References>(nn::input_names<QwenImage21Input>());
}

Tensor QwenImage21Transformer2DModel::predict(Context& cx, const Values& inputs) const {
  Values own = inputs;
  auto references = nn::fill_optional_inputs<QwenImage21References>(cx, own);
  auto input = nn::fill_inputs<QwenImage21Input>(cx, own);
  input.references = std::move(references);
  ensure(input.encoder_hidden_states.size(0) == input.sample.size(0),
         "{} rows of text for {} samples", input.encoder_hidden_states.size(0),
         input.sample.size(0));
  const Tensor made = cx.predicted_output(proj_out.path(), [&] { return predicted(cx, input); });
  return nn::image_of(made, input.sample.size(2), input.sample.size(3));
}

const nn::NetworkInfo& qwen_image21_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "QwenImage21Transformer2DModel",
      .make = [](const Json& json, const std::string& where) -> std::unique_ptr<nn::Network> {
        return std::make_unique<QwenImage21Transformer2DModel>(
            read_qwen_image21_transformer_2d_config(json, where), json);
      },
      .summary = "the diffusion transformer of Qwen-Image 2.1",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Qwen-Image 2.1's transformer (txt_in.text_norm, "
                                "transformer_blocks.*.img_mlp)",
                       .config = qwen_image21_config_from_tensors,
                       .layout = qwen_image21_layout_of,
                       .prefixes = {"", "model.diffusion_model.", "diffusion_model."}},
  };
  return info;
}

}  // namespace omnirt
