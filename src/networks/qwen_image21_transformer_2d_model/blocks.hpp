#pragma once
#include <functional>

#include "networks/qwen_image21_transformer_2d_model/config.hpp"
#include "nn/blocks/kept_tokens.hpp"
#include "nn/blocks/rotary_attention.hpp"

namespace omnirt {

// What all blocks scale and gate by, {B or 1, 1, D} each: 1 + scale, and tanh of the gate.
struct QwenImage21Modulation {
  Tensor scale_attention, gate_attention, scale_perceptron, gate_perceptron;
  // Of {B, 4 D}, in this order.
  static QwenImage21Modulation of(Context& cx, const Tensor& all);
};

// Where tokens of a call are, and what they may look at.
struct QwenImage21Places {
  Tensor rotary;        // {2, T, head_dim / 2}
  Tensor bias{};        // {B or 1, 1, T or 1, keys}: keeps queries from keys; undefined: from none
  bool causal = false;  // each sees those before it alone
  const Tensor* keys_bias() const { return bias.defined() ? &bias : nullptr; }
};

// Of a sequence of a text and an image (diffusers QwenImage21Attention): the text's tokens see
// those before them, the image's see all.
class QwenImage21Attention final : public nn::RotaryAttention {
 public:
  QwenImage21Attention(Module* parent, const std::string& name,
                       const QwenImage21Transformer2DConfig& config);
  const char* class_name() const override { return "QwenImage21Attention"; }
  // x {B, L, D}: the image's; as x.
  Tensor of_image(Context& cx, const Tensor& x, const QwenImage21Places& at,
                  const nn::KeysAndValues& before) const;
  // x {B, T, D}: those before it. `kept` is set; the result is as x, and undefined where
  // `keys_alone`.
  Tensor of_text(Context& cx, const Tensor& x, const QwenImage21Places& at, nn::KeysAndValues& kept,
                 bool keys_alone) const;
};

// out(silu(gate_layer(x)) * proj(x)) (diffusers QwenImage21SwiGLUFeedForward).
class QwenImage21SwiGLUFeedForward final : public nn::Module {
 public:
  QwenImage21SwiGLUFeedForward(Module* parent, const std::string& name, int64_t dim,
                               int64_t hidden);
  const char* class_name() const override { return "QwenImage21SwiGLUFeedForward"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Linear proj, out, gate_layer;
};

// diffusers QwenImage21TextProjection.
class QwenImage21TextProjection final : public nn::Module {
 public:
  QwenImage21TextProjection(Module* parent, const std::string& name, int64_t text_dim, int64_t dim,
                            double eps);
  const char* class_name() const override { return "QwenImage21TextProjection"; }
  Tensor forward(Context& cx, const Tensor& text) const;

  nn::RmsNorm text_norm;
  nn::Linear in_layer, out_layer;
};

// Attention and perceptron, whose modulation all blocks share (diffusers
// QwenImage21TransformerBlock).
class QwenImage21TransformerBlock final : public nn::Module {
 public:
  QwenImage21TransformerBlock(Module* parent, const std::string& name,
                              const QwenImage21Transformer2DConfig& config);
  const char* class_name() const override { return "QwenImage21TransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // x {B, L, D}: the image's tokens; as x. `before`: of the text's, as this block reads them.
  Tensor forward(Context& cx, const Tensor& x, const QwenImage21Modulation& by,
                 const QwenImage21Places& at, const nn::KeysAndValues& before) const;
  // x {B, T, D}: the text's tokens, for a block that is not skipped. As of_text above.
  Tensor read_text(Context& cx, const Tensor& x, const QwenImage21Modulation& by,
                   const QwenImage21Places& at, nn::KeysAndValues& kept, bool keys_alone) const;

  nn::LayerNorm img_norm1;
  QwenImage21Attention attn;
  nn::LayerNorm img_norm2;
  QwenImage21SwiGLUFeedForward img_mlp;

 private:
  // What follows the attention's result `y` of `x`.
  Tensor perceived(Context& cx, const Tensor& x, const Tensor& y,
                   const QwenImage21Modulation& by) const;
};

// A layer norm that the timestep scales (diffusers QwenImage21AdaLayerNormContinuous).
class QwenImage21NormOut final : public nn::Module {
 public:
  QwenImage21NormOut(Module* parent, const std::string& name, int64_t dim, double eps);
  const char* class_name() const override { return "QwenImage21AdaLayerNormContinuous"; }
  // x {B, L, D}, activated {B or 1, D}: SiLU of the embedded timestep.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  nn::Linear linear;
  nn::LayerNorm norm;
};

}  // namespace omnirt
