#include "networks/clip_text_model/blocks.hpp"

#include <cmath>

namespace omnirt {

CLIPTextEmbeddings::CLIPTextEmbeddings(Module* parent, const std::string& name,
                                       const CLIPTextConfig& config)
    : Module(parent, name),
      token_embedding(this, "token_embedding", config.vocab_size, config.hidden_size),
      position_embedding(this, "position_embedding", config.max_position_embeddings,
                         config.hidden_size) {}

Tensor CLIPTextEmbeddings::forward(Context& cx, const Tensor& input_ids) const {
  Tensor tokens = token_embedding.forward(cx, input_ids);
  Tensor positions = cx[position_embedding.weight].narrow(0, 0, input_ids.size(1));
  return cx.ops().add(cx, {tokens, positions});
}

CLIPAttention::CLIPAttention(Module* parent, const std::string& name, const CLIPTextConfig& config)
    : Module(parent, name),
      k_proj(this, "k_proj", config.hidden_size, config.hidden_size),
      v_proj(this, "v_proj", config.hidden_size, config.hidden_size),
      q_proj(this, "q_proj", config.hidden_size, config.hidden_size),
      out_proj(this, "out_proj", config.hidden_size, config.hidden_size),
      heads_(config.num_attention_heads) {}

Tensor CLIPAttention::forward(Context& cx, const Tensor& x, const Tensor& residual) const {
  Tensor query = q_proj.forward(cx, x);
  Tensor key = k_proj.forward(cx, x);
  Tensor value = v_proj.forward(cx, x);
  double scale = 1.0 / std::sqrt(static_cast<double>(x.size(2) / heads_));
  Tensor y = cx.ops().attention(cx, {query, key, value, heads_, scale, /*causal=*/true});
  return out_proj.forward(cx, y, ops::Activation::none, &residual);
}

CLIPMLP::CLIPMLP(Module* parent, const std::string& name, const CLIPTextConfig& config)
    : Module(parent, name),
      fc1(this, "fc1", config.hidden_size, config.intermediate_size),
      fc2(this, "fc2", config.intermediate_size, config.hidden_size),
      activation_(ops::activation_from_name(config.hidden_act, "hidden_act")) {}

Tensor CLIPMLP::forward(Context& cx, const Tensor& x, const Tensor& residual) const {
  return fc2.forward(cx, fc1.forward(cx, x, activation_), ops::Activation::none, &residual);
}

CLIPEncoderLayer::CLIPEncoderLayer(Module* parent, const std::string& name,
                                   const CLIPTextConfig& config)
    : Module(parent, name),
      self_attn(this, "self_attn", config),
      layer_norm1(this, "layer_norm1", config.hidden_size, config.layer_norm_eps),
      mlp(this, "mlp", config),
      layer_norm2(this, "layer_norm2", config.hidden_size, config.layer_norm_eps) {}

Tensor CLIPEncoderLayer::forward(Context& cx, const Tensor& x) const {
  return cx.segment(path(), [&] {
    Tensor h = self_attn.forward(cx, layer_norm1.forward(cx, x), x);
    return mlp.forward(cx, layer_norm2.forward(cx, h), h);
  });
}

CLIPEncoder::CLIPEncoder(Module* parent, const std::string& name, const CLIPTextConfig& config)
    : Module(parent, name), layers(this, "layers") {
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) layers.add(config);
}

}  // namespace omnirt
