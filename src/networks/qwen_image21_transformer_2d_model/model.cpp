#include "networks/qwen_image21_transformer_2d_model/model.hpp"

#include <fmt/format.h>

#include "networks/qwen_image21_transformer_2d_model/original.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {

QwenImage21Transformer2DModel::QwenImage21Transformer2DModel(
    const QwenImage21Transformer2DConfig& config, Json json)
    : Transformer(std::move(json)),
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
  set_blocks(transformer_blocks);
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

std::unique_ptr<nn::KeptTokens> QwenImage21Transformer2DModel::ahead(
    Context& cx, const QwenImage21Input& input, const Tensor& tokens,
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
  nn::KeptTokens::Call call{input.encoder_hidden_states, tokens, config_.causal_condition};
  return std::make_unique<nn::KeptTokens>(cx, std::move(blocks), std::move(call));
}

auto QwenImage21Transformer2DModel::enter(Context& cx, const QwenImage21Input& input) const
    -> Trunk {
  nn::ensure_whole_tokens(input.encoder_hidden_states, input.sample, 1);
  Tensor at_time = activated(cx, input.timestep.tensor.to(at::kFloat));
  const auto by = QwenImage21Modulation::of(cx, modulation[0].forward(cx, at_time));
  const QwenImage21Modulation by_text = of_text(cx, input, by);
  Tensor image = img_in.forward(cx, nn::tokens_of(nn::in_form(cx, input.sample)));
  const Tensor before = prefix(cx, input);
  auto text = ahead(cx, input, before, by_text);
  QwenImage21Places at = image_places(cx, input, before, image);
  const nn::TokenSpan all{0, image.size(1)};
  return {.tokens = {.image = std::move(image)},
          .axis = all,
          .call = {std::move(at_time), by, std::move(at), std::move(text), input.sample.size(2),
                   input.sample.size(3)}};
}

nn::TokenStream QwenImage21Transformer2DModel::block(Context& cx, size_t i, nn::TokenStream x,
                                                     const QwenImage21Call& call) const {
  return {.image = transformer_blocks[i].forward(cx, x.image, call.by, call.at, call.text->of(i))};
}

Tensor QwenImage21Transformer2DModel::leave(Context& cx, const Tensor& tokens,
                                            const QwenImage21Call& call) const {
  const Tensor made = proj_out.forward(cx, norm_out.forward(cx, tokens, call.activated));
  return nn::image_of(made, call.height, call.width);
}

const nn::NetworkInfo& qwen_image21_transformer_2d_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "QwenImage21Transformer2DModel",
      .make =
          nn::network_of<QwenImage21Transformer2DModel, read_qwen_image21_transformer_2d_config>,
      .summary = "the diffusion transformer of Qwen-Image 2.1",
      .weights_base = "diffusion_pytorch_model",
      .role = "denoiser",
      .from_tensors = {.signs = "Qwen-Image 2.1's transformer (txt_in.text_norm, "
                                "transformer_blocks.*.img_mlp)",
                       .config = qwen_image21_config_from_tensors,
                       .layout = qwen_image21_layout_of,
                       .prefixes = {"", "model.diffusion_model.", "diffusion_model."}},
      .gguf = {{"txt_in.text_norm.", "qwen_image"}},
      .marks = {{"model.diffusion_model.txt_in.text_norm.", "a Qwen-Image 2.1 transformer"},
                {"txt_in.text_norm.", "a Qwen-Image 2.1 transformer"}},
  };
  return info;
}

}  // namespace omnirt
