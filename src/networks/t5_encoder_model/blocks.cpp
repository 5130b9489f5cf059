#include "networks/t5_encoder_model/blocks.hpp"

#include "base/ensure.hpp"
#include "nn/run_blocks.hpp"

namespace omnirt {

T5Attention::T5Attention(Module* parent, const std::string& name, const T5Config& config,
                         bool makes_bias)
    : Module(parent, name),
      q(this, "q", config.d_model, config.num_heads * config.d_kv, false),
      k(this, "k", config.d_model, config.num_heads * config.d_kv, false),
      v(this, "v", config.d_model, config.num_heads * config.d_kv, false),
      o(this, "o", config.num_heads * config.d_kv, config.d_model, false),
      heads_(config.num_heads),
      max_distance_(config.relative_attention_max_distance) {
  if (makes_bias) {
    relative_attention_bias.emplace(this, "relative_attention_bias",
                                    config.relative_attention_num_buckets, config.num_heads);
  }
}

Tensor T5Attention::forward(Context& cx, const Tensor& x, const Tensor& bias,
                            const Tensor& residual) const {
  Tensor query = q.forward(cx, x);
  Tensor key = k.forward(cx, x);
  Tensor value = v.forward(cx, x);
  Tensor y = cx.ops().attention(
      cx, {query, key, value, heads_, /*scale=*/1.0, /*causal=*/false, /*upcast=*/false, &bias});
  return o.forward(cx, y, ops::Activation::none, &residual);
}

Tensor T5Attention::bias(Context& cx, int64_t length, const Tensor* mask) const {
  ensure(relative_attention_bias.has_value(), "{} makes no bias", path());
  return cx.ops().relative_position_bias(
      cx, {cx[relative_attention_bias->weight], length, max_distance_, cx.dtype(), mask});
}

T5LayerSelfAttention::T5LayerSelfAttention(Module* parent, const std::string& name,
                                           const T5Config& config, bool makes_bias)
    : Module(parent, name),
      SelfAttention(this, "SelfAttention", config, makes_bias),
      layer_norm(this, "layer_norm", config.d_model, config.layer_norm_epsilon) {}

T5DenseReluDense::T5DenseReluDense(Module* parent, const std::string& name, const T5Config& config)
    : Module(parent, name),
      wi_0(this, config.gated() ? "wi_0" : "wi", config.d_model, config.d_ff, false),
      wo(this, "wo", config.d_ff, config.d_model, false),
      activation_(config.activation()) {
  if (config.gated()) wi_1.emplace(this, "wi_1", config.d_model, config.d_ff, false);
}

Tensor T5DenseReluDense::forward(Context& cx, const Tensor& x, const Tensor& residual) const {
  Tensor h = wi_0.forward(cx, x, activation_);
  if (wi_1) {
    Tensor linear = wi_1->forward(cx, x);
    h = cx.ops().gate(cx, {h, linear});
  }
  return wo.forward(cx, h, ops::Activation::none, &residual);
}

T5LayerFF::T5LayerFF(Module* parent, const std::string& name, const T5Config& config)
    : Module(parent, name),
      DenseReluDense(this, "DenseReluDense", config),
      layer_norm(this, "layer_norm", config.d_model, config.layer_norm_epsilon) {}

T5Layers::T5Layers(Module* parent, const std::string& name, const T5Config& config, bool makes_bias)
    : Module(parent, name),
      attention(this, "0", config, makes_bias),
      feed_forward(this, "1", config) {}

T5Block::T5Block(Module* parent, const std::string& name, const T5Config& config, bool makes_bias)
    : Module(parent, name), layer(this, "layer", config, makes_bias) {}

Tensor T5Block::forward(Context& cx, const Tensor& x, const Tensor& bias) const {
  const T5LayerSelfAttention& first = layer.attention;
  const T5LayerFF& second = layer.feed_forward;
  Tensor h = first.SelfAttention.forward(cx, first.layer_norm.forward(cx, x), bias, x);
  return second.DenseReluDense.forward(cx, second.layer_norm.forward(cx, h), h);
}

T5Stack::T5Stack(Module* parent, const std::string& name, const T5Config& config)
    : Module(parent, name),
      block(this, "block"),
      final_layer_norm(this, "final_layer_norm", config.d_model, config.layer_norm_epsilon) {
  for (int64_t i = 0; i < config.num_layers; ++i)
    block.add(config, /*makes_bias=*/i == 0 || config.bias_in_each_layer);
}

Tensor T5Stack::forward(Context& cx, const Tensor& embedded, const Tensor* mask) const {
  Tensor bias;
  const Tensor h = nn::run_blocks(cx, block, embedded, [&](size_t i, const Tensor& x) {
    const T5Attention& attention = block[i].layer.attention.SelfAttention;
    if (attention.relative_attention_bias) bias = attention.bias(cx, embedded.size(1), mask);
    return block[i].forward(cx, x, bias);
  });
  return final_layer_norm.forward(cx, h);
}

}  // namespace omnirt
