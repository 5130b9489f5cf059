#pragma once
#include <optional>

#include "networks/t5_encoder_model/config.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// Self-attention without a scale; the scores' bias encodes how far apart tokens are. The first
// layer of a stack makes it for all, or each its own (UMT5).
class T5Attention final : public nn::Module {
 public:
  T5Attention(Module* parent, const std::string& name, const T5Config& config, bool makes_bias);
  const char* class_name() const override { return "T5Attention"; }
  // x and residual {B, T, D}, bias {B or 1, heads, T, T}; o(attention) + residual.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& bias, const Tensor& residual) const;
  // mask {B, T}: 0 keeps a token from all others.
  Tensor bias(Context& cx, int64_t length, const Tensor* mask) const;

  nn::Linear q, k, v, o;
  std::optional<nn::Embedding> relative_attention_bias;

 private:
  int64_t heads_, max_distance_;
};

class T5LayerSelfAttention final : public nn::Module {
 public:
  T5LayerSelfAttention(Module* parent, const std::string& name, const T5Config& config,
                       bool makes_bias);
  const char* class_name() const override { return "T5LayerSelfAttention"; }

  T5Attention SelfAttention;  // NOLINT(readability-identifier-naming): the checkpoint's name
  nn::RmsNorm layer_norm;
};

// wo(act(wi(x))), or wo(act(wi_0(x)) * wi_1(x)) where it is gated (Shazeer 2020, arXiv 2002.05202).
class T5DenseReluDense final : public nn::Module {
 public:
  T5DenseReluDense(Module* parent, const std::string& name, const T5Config& config);
  const char* class_name() const override {
    return wi_1 ? "T5DenseGatedActDense" : "T5DenseActDense";
  }
  // x and residual {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual) const;

  nn::Linear wi_0;  // "wi" where it is not gated
  std::optional<nn::Linear> wi_1;
  nn::Linear wo;

 private:
  ops::Activation activation_;
};

class T5LayerFF final : public nn::Module {
 public:
  T5LayerFF(Module* parent, const std::string& name, const T5Config& config);
  const char* class_name() const override { return "T5LayerFF"; }

  T5DenseReluDense DenseReluDense;  // NOLINT(readability-identifier-naming): the checkpoint's name
  nn::RmsNorm layer_norm;
};

// The checkpoint's "layer": 0 is the attention, 1 the perceptron.
class T5Layers final : public nn::Module {
 public:
  T5Layers(Module* parent, const std::string& name, const T5Config& config, bool makes_bias);

  T5LayerSelfAttention attention;
  T5LayerFF feed_forward;
};

class T5Block final : public nn::Module {
 public:
  T5Block(Module* parent, const std::string& name, const T5Config& config, bool makes_bias);
  const char* class_name() const override { return "T5Block"; }
  // x {B, T, D}, bias as T5Attention takes it; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& bias) const;

  T5Layers layer;
};

class T5Stack final : public nn::Module {
 public:
  T5Stack(Module* parent, const std::string& name, const T5Config& config);
  const char* class_name() const override { return "T5Stack"; }
  // Embedded tokens {B, T, D}, mask {B, T} or null; the last layer's states, normalised.
  Tensor forward(Context& cx, const Tensor& embedded, const Tensor* mask) const;

  nn::ModuleList<T5Block> block;
  nn::RmsNorm final_layer_norm;
};

}  // namespace omnirt
