#include "networks/qwen_image21_transformer_2d_model/blocks.hpp"

namespace omnirt {
namespace {

nn::RotaryAttentionOptions qwen_image21_attention(const QwenImage21Transformer2DConfig& config) {
  return {.dim = config.inner_dim(), .heads = config.num_attention_heads, .norm_eps = config.eps};
}

}  // namespace

QwenImage21Modulation QwenImage21Modulation::of(Context& cx, const Tensor& all) {
  const auto parts = nn::SandwichModulation::of(all);
  auto scale = [&](const Tensor& x) { return cx.ops().affine(cx, {x, 1.0, 1.0}); };
  auto gate = [&](const Tensor& x) { return cx.ops().soft_clamp(cx, {x, /*bound=*/1.0}); };
  return {scale(parts.scale_attention), gate(parts.gate_attention), scale(parts.scale_perceptron),
          gate(parts.gate_perceptron)};
}

QwenImage21Attention::QwenImage21Attention(Module* parent, const std::string& name,
                                           const QwenImage21Transformer2DConfig& config)
    : RotaryAttention(parent, name, qwen_image21_attention(config)) {}

Tensor QwenImage21Attention::of_image(Context& cx, const Tensor& x, const QwenImage21Places& at,
                                      const nn::KeysAndValues& before) const {
  Parts own = parts(cx, x, &at.rotary);
  auto [key, value] = nn::preceded_by(cx, {own.key, own.value}, before);
  own.key = std::move(key);
  own.value = std::move(value);
  return to_out[0].forward(cx, attended(cx, own, at.causal, at.keys_bias()));
}

Tensor QwenImage21Attention::of_text(Context& cx, const Tensor& x, const QwenImage21Places& at,
                                     nn::KeysAndValues& kept, bool keys_alone) const {
  const Parts own = parts(cx, x, &at.rotary);
  kept = {own.key, own.value};
  if (keys_alone) return {};
  return to_out[0].forward(cx, attended(cx, own, at.causal, at.keys_bias()));
}

QwenImage21SwiGLUFeedForward::QwenImage21SwiGLUFeedForward(Module* parent, const std::string& name,
                                                           int64_t dim, int64_t hidden)
    : Module(parent, name),
      proj(this, "proj", dim, hidden, false),
      out(this, "out", hidden, dim, false),
      gate_layer(this, "gate_layer", dim, hidden, false) {}

Tensor QwenImage21SwiGLUFeedForward::forward(Context& cx, const Tensor& x) const {
  Tensor opened = gate_layer.forward(cx, x, ops::Activation::silu), linear = proj.forward(cx, x);
  return out.forward(cx, cx.ops().gate(cx, {opened, linear}));
}

QwenImage21TextProjection::QwenImage21TextProjection(Module* parent, const std::string& name,
                                                     int64_t text_dim, int64_t dim, double eps)
    : Module(parent, name),
      text_norm(this, "text_norm", text_dim, eps, /*from_one=*/true),
      in_layer(this, "in_layer", text_dim, dim, false),
      out_layer(this, "out_layer", dim, dim, false) {}

Tensor QwenImage21TextProjection::forward(Context& cx, const Tensor& text) const {
  Tensor inner = in_layer.forward(cx, text_norm.forward(cx, text), ops::Activation::gelu_tanh);
  return out_layer.forward(cx, inner);
}

QwenImage21TransformerBlock::QwenImage21TransformerBlock(
    Module* parent, const std::string& name, const QwenImage21Transformer2DConfig& config)
    : Module(parent, name),
      img_norm1(this, "img_norm1", config.inner_dim(), config.eps, /*affine=*/false),
      attn(this, "attn", config),
      img_norm2(this, "img_norm2", config.inner_dim(), config.eps, /*affine=*/false),
      img_mlp(this, "img_mlp", config.inner_dim(), config.mlp_ratio * config.inner_dim()) {}

Tensor QwenImage21TransformerBlock::perceived(Context& cx, const Tensor& x, const Tensor& y,
                                              const QwenImage21Modulation& by) const {
  Tensor h = cx.ops().gate(cx, {y, by.gate_attention, &x});
  Tensor normed = img_norm2.forward(cx, h);
  Tensor through = img_mlp.forward(cx, cx.ops().gate(cx, {normed, by.scale_perceptron}));
  return cx.ops().gate(cx, {through, by.gate_perceptron, &h});
}

Tensor QwenImage21TransformerBlock::forward(Context& cx, const Tensor& x,
                                            const QwenImage21Modulation& by,
                                            const QwenImage21Places& at,
                                            const nn::KeysAndValues& before) const {
  Tensor normed = img_norm1.forward(cx, x);
  auto made = cx.predicted_attention(attn.path(), [&] {
    Tensor scaled = cx.ops().gate(cx, {normed, by.scale_attention});
    return std::vector<Tensor>{attn.of_image(cx, scaled, at, before)};
  });
  return perceived(cx, x, made.front(), by);
}

Tensor QwenImage21TransformerBlock::read_text(Context& cx, const Tensor& x,
                                              const QwenImage21Modulation& by,
                                              const QwenImage21Places& at, nn::KeysAndValues& kept,
                                              bool keys_alone) const {
  Tensor normed = img_norm1.forward(cx, x);
  Tensor scaled = cx.ops().gate(cx, {normed, by.scale_attention});
  Tensor y = attn.of_text(cx, scaled, at, kept, keys_alone);
  return keys_alone ? Tensor() : perceived(cx, x, y, by);
}

QwenImage21NormOut::QwenImage21NormOut(Module* parent, const std::string& name, int64_t dim,
                                       double eps)
    : Module(parent, name),
      linear(this, "linear", dim, dim, false),
      norm(this, "norm", dim, eps, /*affine=*/false) {}

Tensor QwenImage21NormOut::forward(Context& cx, const Tensor& x, const Tensor& activated) const {
  Tensor scale = linear.forward(cx, activated).unsqueeze(1);
  return nn::scaled_tokens(cx, norm.forward(cx, x), scale);
}

}  // namespace omnirt
