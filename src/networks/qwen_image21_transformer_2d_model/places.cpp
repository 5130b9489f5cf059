// Where the tokens of a call are, and what they may look at.
#include <fmt/format.h>

#include "networks/qwen_image21_transformer_2d_model/model.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double qwen_image21_theta = 10000;  // in the reference's code, not in the config

}  // namespace

// Padding of a text has a place, as in the reference.
Tensor QwenImage21Transformer2DModel::positions(Context& cx, const QwenImage21Input& input) const {
  const Tensor& text = input.encoder_hidden_states;
  const int64_t height = input.sample.size(2), width = input.sample.size(3);
  const int64_t before = text.size(1);
  Tensor all = cx.ops().token_positions(cx, {text, before, height, width});
  Tensor places = all.narrow(0, 0, before).narrow(1, 3, 1).expand({before, 3}).unsqueeze(0);
  Tensor tokens = all.narrow(0, before, height * width);
  Tensor image =
      nn::from_the_middle(cx, tokens, height, width, static_cast<double>(before)).unsqueeze(0);
  return cx.ops().concat(cx, {places, image}).squeeze(0);
}

Tensor QwenImage21Transformer2DModel::rotary(Context& cx, const QwenImage21Input& input,
                                             bool of_image) const {
  const Tensor& text = input.encoder_hidden_states;
  const int64_t height = input.sample.size(2), width = input.sample.size(3);
  const std::string site =
      of_image ? fmt::format("rotary {}x{}", height, width) : std::string("rotary of text");
  const std::optional<Tensor>& given = of_image ? input.sample_ids : input.prefix_ids;
  return cx.once(site, text, [&] {
    Tensor each;
    if (given) {
      each = given->select(0, 0);
    } else {
      const Tensor all = positions(cx, input);
      each =
          of_image ? all.narrow(0, text.size(1), height * width) : all.narrow(0, 0, text.size(1));
    }
    return cx.ops().rotary_table(
        cx, {.x = each, .axes = config_.axes_dims_rope, .theta = qwen_image21_theta});
  });
}

Tensor QwenImage21Transformer2DModel::prefix(Context& cx, const QwenImage21Input& input) const {
  const Tensor& text = input.encoder_hidden_states;
  return cx.once(fmt::format("prefix of {}", text.size(0)), text, [&] {
    const Tensor tokens = txt_in.forward(cx, nn::in_form(cx, text));
    if (!input.reference_latents) return tokens;
    const Tensor images = img_in.forward(cx, nn::in_form(cx, *input.reference_latents));
    return cx.ops().concat(cx, {tokens, images});
  });
}

QwenImage21Places QwenImage21Transformer2DModel::prefix_places(
    Context& cx, const QwenImage21Input& input) const {
  QwenImage21Places at{.rotary = rotary(cx, input, false)};
  if (input.prefix_mask) {
    const Tensor& sees = *input.prefix_mask;
    at.bias = cx.once("bias of prefix", sees, [&] {
      const Tensor each = sees.reshape({-1, sees.size(2)});
      return cx.ops().key_mask(cx, {each, cx.dtype()}).view({sees.size(0), 1, -1, sees.size(2)});
    });
    return at;
  }
  at.causal = true;
  if (!input.encoder_attention_mask) return at;
  const Tensor& mask = *input.encoder_attention_mask;
  at.bias = cx.once("bias of text", mask, [&] {
    const Tensor of_text = nn::in_form(cx, mask);
    return cx.ops().key_mask(cx, {of_text, cx.dtype()});
  });
  return at;
}

QwenImage21Places QwenImage21Transformer2DModel::image_places(Context& cx,
                                                              const QwenImage21Input& input,
                                                              const Tensor& image) const {
  QwenImage21Places at{.rotary = rotary(cx, input, true)};
  if (!input.encoder_attention_mask) return at;
  const Tensor& mask = *input.encoder_attention_mask;
  if (!input.reference_latents) {
    at.bias = nn::qwen_image_bias(cx, mask, image);
    return at;
  }
  const Tensor references = input.reference_latents->select(2, 0);
  const Tensor all = cx.once("mask with references", mask, [&] {
    const Tensor ones = cx.ops().affine(cx, {references, 0.0, 1.0});
    return cx.ops().concat(cx, {mask, ones});
  });
  at.bias = nn::qwen_image_bias(cx, all, image);
  return at;
}

}  // namespace omnirt
