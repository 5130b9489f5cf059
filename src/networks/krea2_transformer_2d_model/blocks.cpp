#include "networks/krea2_transformer_2d_model/blocks.hpp"

#include "nn/layout.hpp"
#include "nn/run_blocks.hpp"

namespace omnirt {
namespace {

// 1 / (1 + exp(-x)) = tanh(x / 2) / 2 + 1 / 2.
Tensor krea2_sigmoid(Context& cx, const Tensor& x) {
  return cx.ops().affine(cx, {cx.ops().soft_clamp(cx, {x, /*bound=*/2.0}), 0.25, 0.5});
}

nn::RotaryAttentionOptions krea2_text_attention(const Krea2Transformer2DConfig& config) {
  return {.dim = config.text_hidden_dim,
          .heads = config.text_num_attention_heads,
          .kv_heads = config.text_num_key_value_heads,
          .norm_eps = config.norm_eps,
          .norms_from_one = true};
}

nn::RotaryAttentionOptions krea2_image_attention(const Krea2Transformer2DConfig& config) {
  return {.dim = config.inner_dim(),
          .heads = config.num_attention_heads,
          .kv_heads = config.num_key_value_heads,
          .norm_eps = config.norm_eps,
          .norms_from_one = true};
}

}  // namespace

Krea2Attention::Krea2Attention(Module* parent, const std::string& name,
                               const nn::RotaryAttentionOptions& options)
    : RotaryAttention(parent, name, options),
      to_gate(this, "to_gate", options.dim, options.dim, false) {}

Tensor Krea2Attention::forward(Context& cx, const Tensor& x, const Tensor* rotary,
                               const Tensor* residual) const {
  Tensor y = attended(cx, x, rotary);
  Tensor opened = krea2_sigmoid(cx, to_gate.forward(cx, x));
  return to_out[0].forward(cx, cx.ops().gate(cx, {y, opened}), ops::Activation::none, residual);
}

Krea2SwiGLU::Krea2SwiGLU(Module* parent, const std::string& name, int64_t dim, int64_t hidden)
    : Module(parent, name),
      gate(this, "gate", dim, hidden, false),
      up(this, "up", dim, hidden, false),
      down(this, "down", hidden, dim, false) {}

Tensor Krea2SwiGLU::forward(Context& cx, const Tensor& x, const Tensor* residual) const {
  Tensor opened = gate.forward(cx, x, ops::Activation::silu), linear = up.forward(cx, x);
  return down.forward(cx, cx.ops().gate(cx, {opened, linear}), ops::Activation::none, residual);
}

Krea2TextFusionBlock::Krea2TextFusionBlock(Module* parent, const std::string& name,
                                           const Krea2Transformer2DConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.text_hidden_dim, config.norm_eps, /*from_one=*/true),
      norm2(this, "norm2", config.text_hidden_dim, config.norm_eps, /*from_one=*/true),
      attn(this, "attn", krea2_text_attention(config)),
      ff(this, "ff", config.text_hidden_dim, config.text_intermediate_size) {}

Tensor Krea2TextFusionBlock::forward(Context& cx, const Tensor& x) const {
  Tensor h = attn.forward(cx, norm1.forward(cx, x), nullptr, &x);
  return ff.forward(cx, norm2.forward(cx, h), &h);
}

Krea2TextFusion::Krea2TextFusion(Module* parent, const std::string& name,
                                 const Krea2Transformer2DConfig& config)
    : Module(parent, name),
      layerwise_blocks(this, "layerwise_blocks"),
      projector(this, "projector", config.num_text_layers, 1, false),
      refiner_blocks(this, "refiner_blocks"),
      layers_(config.num_text_layers),
      dim_(config.text_hidden_dim) {
  for (int64_t i = 0; i < config.num_layerwise_text_blocks; ++i) layerwise_blocks.add(config);
  for (int64_t i = 0; i < config.num_refiner_text_blocks; ++i) refiner_blocks.add(config);
}

Tensor Krea2TextFusion::forward(Context& cx, const Tensor& text) const {
  const int64_t rows = text.size(0), tokens = text.size(1);
  Tensor h = text.reshape({rows * tokens, layers_, dim_});
  h = nn::run_list(cx, layerwise_blocks, h);
  const Tensor values = nn::tokens_of(h.unsqueeze(2));  // {B T, D, layers}
  h = projector.forward(cx, values).view({rows, tokens, dim_});
  return nn::run_list(cx, refiner_blocks, h);
}

Krea2TextProjection::Krea2TextProjection(Module* parent, const std::string& name, int64_t text_dim,
                                         int64_t dim, double eps)
    : Module(parent, name),
      norm(this, "norm", text_dim, eps, /*from_one=*/true),
      linear_1(this, "linear_1", text_dim, dim),
      linear_2(this, "linear_2", dim, dim) {}

Tensor Krea2TextProjection::forward(Context& cx, const Tensor& text) const {
  Tensor inner = linear_1.forward(cx, norm.forward(cx, text), ops::Activation::gelu_tanh);
  return linear_2.forward(cx, inner);
}

Krea2TimestepEmbedding::Krea2TimestepEmbedding(Module* parent, const std::string& name,
                                               int64_t waves, int64_t dim)
    : Module(parent, name),
      linear_1(this, "linear_1", waves, dim),
      linear_2(this, "linear_2", dim, dim),
      waves_(waves) {}

Tensor Krea2TimestepEmbedding::forward(Context& cx, const Tensor& timestep) const {
  Tensor waves = cx.ops().timestep_embedding(
      cx, {timestep, waves_, /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
  Tensor inner = linear_1.forward(cx, nn::in_form(cx, waves), ops::Activation::gelu_tanh);
  return linear_2.forward(cx, inner);
}

Krea2TransformerBlock::Krea2TransformerBlock(Module* parent, const std::string& name,
                                             const Krea2Transformer2DConfig& config)
    : Module(parent, name),
      scale_shift_table(param("scale_shift_table", {6, config.inner_dim()})),
      norm1(this, "norm1", config.inner_dim(), config.norm_eps, /*from_one=*/true),
      norm2(this, "norm2", config.inner_dim(), config.norm_eps, /*from_one=*/true),
      attn(this, "attn", krea2_image_attention(config)),
      ff(this, "ff", config.inner_dim(), config.intermediate_size) {
  own(scale_shift_table);
}

Tensor Krea2TransformerBlock::forward(Context& cx, const Tensor& x, const Tensor& modulation,
                                      const Tensor& rotary) const {
  Tensor all = cx.ops().add(cx, {modulation, cx[scale_shift_table].unsqueeze(0)});
  // {B or 1, 1, D} each.
  auto part = [&](int64_t i) { return all.narrow(1, i, 1); };
  Tensor scale = part(0), shift = part(1), gate = part(2);
  Tensor scale_ff = part(3), shift_ff = part(4), gate_ff = part(5);
  Tensor normed = norm1.forward(cx, x);
  normed = cx.ops().modulate(cx, {normed, scale, shift});
  auto attended = cx.predicted_attention(
      attn.path(), [&] { return std::vector<Tensor>{attn.forward(cx, normed, &rotary)}; });
  Tensor h = cx.ops().gate(cx, {attended.front(), gate, &x});
  normed = norm2.forward(cx, h);
  normed = cx.ops().modulate(cx, {normed, scale_ff, shift_ff});
  Tensor through = ff.forward(cx, normed);
  return cx.ops().gate(cx, {through, gate_ff, &h});
}

Krea2FinalLayer::Krea2FinalLayer(Module* parent, const std::string& name, int64_t dim, int64_t out,
                                 double eps)
    : Module(parent, name),
      scale_shift_table(param("scale_shift_table", {2, dim})),
      norm(this, "norm", dim, eps, /*from_one=*/true),
      linear(this, "linear", dim, out) {
  own(scale_shift_table);
}

Tensor Krea2FinalLayer::forward(Context& cx, const Tensor& x, const Tensor& embedded) const {
  Tensor twice = embedded.unsqueeze(1).expand({embedded.size(0), 2, embedded.size(1)});
  Tensor both = cx.ops().add(cx, {twice, cx[scale_shift_table].unsqueeze(0)});
  Tensor scale = both.narrow(1, 0, 1), shift = both.narrow(1, 1, 1);
  Tensor normed = norm.forward(cx, x);
  return linear.forward(cx, cx.ops().modulate(cx, {normed, scale, shift}));
}

}  // namespace omnirt
