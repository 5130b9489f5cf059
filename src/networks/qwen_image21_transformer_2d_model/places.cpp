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
  const auto& references = input.references;
  return cx.once(site, text, [&] {
    Tensor each;
    if (references) {
      each = (of_image ? references->sample_ids : references->prefix_ids).tensor.select(0, 0);
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
  return cx.once("prefix", text, [&] {
    const Tensor tokens = txt_in.forward(cx, nn::in_form(cx, text));
    if (!input.references) return tokens;
    const nn::DistinctRows& given = input.references->latents;
    Tensor images = img_in.forward(cx, nn::in_form(cx, given.tensor));
    if (!given.rows.empty()) images = cx.ops().take_rows(cx, {images, given.rows});
    return cx.ops().concat(cx, {tokens, images});
  });
}

// {B or 1, 1, T + N, T + N}.
Tensor QwenImage21Transformer2DModel::prefix_bias(Context& cx, const nn::DistinctRows& mask) const {
  const Tensor& sees = mask.tensor;
  const Tensor each = cx.once("bias of prefix", sees, [&] {
    const Tensor rows = sees.reshape({-1, sees.size(2)});
    return cx.ops().key_mask(cx, {rows, cx.dtype()}).view({sees.size(0), 1, -1, sees.size(2)});
  });
  if (sees.size(0) == 1 || mask.rows.empty()) return each;
  return cx.once_in_rows("bias of prefix", mask.rows, each, [&] {
    return cx.ops().take_rows(cx, {each, mask.rows});
  });
}

QwenImage21Places QwenImage21Transformer2DModel::prefix_places(
    Context& cx, const QwenImage21Input& input) const {
  QwenImage21Places at{.rotary = rotary(cx, input, false)};
  if (input.references) {
    at.bias = prefix_bias(cx, input.references->prefix_mask);
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
                                                              const Tensor& before,
                                                              const Tensor& image) const {
  QwenImage21Places at{.rotary = rotary(cx, input, true)};
  if (!input.encoder_attention_mask) return at;
  const Tensor& mask = *input.encoder_attention_mask;
  const int64_t text = mask.size(1), images = before.size(1) - text;
  if (images == 0) {
    at.bias = nn::qwen_image_bias(cx, mask, image);
    return at;
  }
  const Tensor all = cx.once("mask with images", mask, [&] {
    const Tensor first = before.narrow(1, text, images).select(2, 0).to(mask.scalar_type());
    const Tensor ones = cx.ops().affine(cx, {first, 0.0, 1.0});
    return cx.ops().concat(cx, {mask, ones});
  });
  at.bias = nn::qwen_image_bias(cx, all, image);
  return at;
}

}  // namespace omnirt
