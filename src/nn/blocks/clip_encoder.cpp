#include "nn/blocks/clip_encoder.hpp"

#include <cmath>

namespace omnirt::nn {

CLIPAttention::CLIPAttention(Module* parent, const std::string& name,
                             const CLIPEncoderOptions& options)
    : Module(parent, name),
      k_proj(this, "k_proj", options.hidden_size, options.hidden_size),
      v_proj(this, "v_proj", options.hidden_size, options.hidden_size),
      q_proj(this, "q_proj", options.hidden_size, options.hidden_size),
      out_proj(this, "out_proj", options.hidden_size, options.hidden_size),
      heads_(options.heads),
      causal_(options.causal) {}

Tensor CLIPAttention::forward(Context& cx, const Tensor& x, const Tensor& residual,
                              const Tensor* bias) const {
  Tensor query = q_proj.forward(cx, x);
  Tensor key = k_proj.forward(cx, x);
  Tensor value = v_proj.forward(cx, x);
  double scale = 1.0 / std::sqrt(static_cast<double>(x.size(2) / heads_));
  Tensor y =
      cx.ops().attention(cx, {query, key, value, heads_, scale, causal_, /*upcast=*/false, bias});
  return out_proj.forward(cx, y, ops::Activation::none, &residual);
}

CLIPMLP::CLIPMLP(Module* parent, const std::string& name, const CLIPEncoderOptions& options)
    : Module(parent, name),
      fc1(this, "fc1", options.hidden_size, options.intermediate_size),
      fc2(this, "fc2", options.intermediate_size, options.hidden_size),
      activation_(options.activation) {}

Tensor CLIPMLP::forward(Context& cx, const Tensor& x, const Tensor& residual) const {
  return fc2.forward(cx, fc1.forward(cx, x, activation_), ops::Activation::none, &residual);
}

CLIPEncoderLayer::CLIPEncoderLayer(Module* parent, const std::string& name,
                                   const CLIPEncoderOptions& options)
    : Module(parent, name),
      self_attn(this, "self_attn", options),
      layer_norm1(this, "layer_norm1", options.hidden_size, options.layer_norm_eps),
      mlp(this, "mlp", options),
      layer_norm2(this, "layer_norm2", options.hidden_size, options.layer_norm_eps) {}

Tensor CLIPEncoderLayer::forward(Context& cx, const Tensor& x, const Tensor* bias) const {
  return cx.segment(path(), [&] {
    Tensor h = self_attn.forward(cx, layer_norm1.forward(cx, x), x, bias);
    return mlp.forward(cx, layer_norm2.forward(cx, h), h);
  });
}

CLIPEncoder::CLIPEncoder(Module* parent, const std::string& name, const CLIPEncoderOptions& options)
    : Module(parent, name), layers(this, "layers") {
  for (int64_t i = 0; i < options.layers; ++i) layers.add(options);
}

}  // namespace omnirt::nn
