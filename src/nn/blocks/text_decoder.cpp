#include "nn/blocks/text_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ensure.hpp"
#include "nn/run_blocks.hpp"

namespace omnirt::nn {

TextDecoderAttention::TextDecoderAttention(Module* parent, const std::string& name,
                                           const TextDecoderOptions& options, int64_t window)
    : Module(parent, name),
      q_proj(this, "q_proj", options.hidden_size, options.heads * options.head_dim,
             options.attention_bias),
      k_proj(this, "k_proj", options.hidden_size, options.kv_heads * options.head_dim,
             options.attention_bias),
      v_proj(this, "v_proj", options.hidden_size, options.kv_heads * options.head_dim,
             options.attention_bias),
      o_proj(this, "o_proj", options.heads * options.head_dim, options.hidden_size,
             options.output_bias),
      heads_(options.heads),
      kv_heads_(options.kv_heads),
      head_dim_(options.head_dim),
      window_(window),
      scale_(options.score_scale > 0 ? options.score_scale
                                     : 1.0 / std::sqrt(static_cast<double>(options.head_dim))),
      soft_cap_(options.soft_cap) {
  if (!options.head_norms) return;
  q_norm.emplace(this, "q_norm", options.head_dim, options.norm_eps);
  k_norm.emplace(this, "k_norm", options.head_dim, options.norm_eps);
}

Tensor TextDecoderAttention::placed(Context& cx, const Tensor& product,
                                    const std::optional<RmsNorm>& norm,
                                    const TextDecoderPlaces& places) const {
  Tensor heads = product.view({product.size(0), product.size(1), -1, head_dim_});
  if (norm) heads = norm->forward(cx, heads);
  Tensor turned = cx.ops().rotary(cx, {heads, places.rotary, ops::RotaryPairs::halves});
  return turned.view(product.sizes());
}

Tensor TextDecoderAttention::forward(Context& cx, const Tensor& x, const TextDecoderPlaces& places,
                                     const Tensor* residual) const {
  Tensor query = placed(cx, q_proj.forward(cx, x), q_norm, places);
  Tensor key = placed(cx, k_proj.forward(cx, x), k_norm, places);
  Tensor value = v_proj.forward(cx, x);
  Tensor y = cx.ops().attention(cx, {.x = query,
                                     .key = key,
                                     .value = value,
                                     .heads = heads_,
                                     .scale = scale_,
                                     .causal = true,
                                     .bias = places.bias,
                                     .kv_heads = kv_heads_,
                                     .soft_cap = soft_cap_,
                                     .window = window_});
  return o_proj.forward(cx, y, ops::Activation::none, residual);
}

TextDecoderMLP::TextDecoderMLP(Module* parent, const std::string& name,
                               const TextDecoderOptions& options)
    : Module(parent, name),
      gate_proj(this, "gate_proj", options.hidden_size, options.intermediate_size, false),
      up_proj(this, "up_proj", options.hidden_size, options.intermediate_size, false),
      down_proj(this, "down_proj", options.intermediate_size, options.hidden_size, false),
      activation_(options.activation) {}

Tensor TextDecoderMLP::forward(Context& cx, const Tensor& x, const Tensor* residual) const {
  Tensor gate = gate_proj.forward(cx, x, activation_), linear = up_proj.forward(cx, x);
  return down_proj.forward(cx, cx.ops().gate(cx, {gate, linear}), ops::Activation::none, residual);
}

TextDecoderLayer::TextDecoderLayer(Module* parent, const std::string& name,
                                   const TextDecoderOptions& options, int64_t window,
                                   const char* class_name)
    : Module(parent, name),
      self_attn(this, "self_attn", options, window),
      mlp(this, "mlp", options),
      input_layernorm(this, "input_layernorm", options.hidden_size, options.norm_eps,
                      options.norms_from_one),
      post_attention_layernorm(this, "post_attention_layernorm", options.hidden_size,
                               options.norm_eps, options.norms_from_one),
      class_name_(class_name) {
  if (!options.norms_after) return;
  pre_feedforward_layernorm.emplace(this, "pre_feedforward_layernorm", options.hidden_size,
                                    options.norm_eps, options.norms_from_one);
  post_feedforward_layernorm.emplace(this, "post_feedforward_layernorm", options.hidden_size,
                                     options.norm_eps, options.norms_from_one);
}

Tensor TextDecoderLayer::forward(Context& cx, const Tensor& x,
                                 const TextDecoderPlaces& places) const {
  Tensor normed = input_layernorm.forward(cx, x);
  if (!pre_feedforward_layernorm) {
    Tensor h = self_attn.forward(cx, normed, places, &x);
    return mlp.forward(cx, post_attention_layernorm.forward(cx, h), &h);
  }
  Tensor attended = self_attn.forward(cx, normed, places, nullptr);
  Tensor h = cx.ops().add(cx, {post_attention_layernorm.forward(cx, attended), x});
  Tensor through = mlp.forward(cx, pre_feedforward_layernorm->forward(cx, h), nullptr);
  return cx.ops().add(cx, {post_feedforward_layernorm->forward(cx, through), h});
}

TextDecoder::TextDecoder(Module* parent, const std::string& name, int64_t vocab_size,
                         const TextDecoderOptions& options, const char* layer_class)
    : Module(parent, name),
      embed_tokens(this, "embed_tokens", vocab_size, options.hidden_size),
      layers(this, "layers"),
      head_dim_(options.head_dim),
      rope_theta_(options.rope_theta),
      embedding_scale_(options.embedding_scale) {
  for (size_t i = 0; i < static_cast<size_t>(options.layers); ++i)
    layers.add(options, i < options.windows.size() ? options.windows[i] : 0, layer_class);
  if (options.final_norm)
    norm.emplace(this, "norm", options.hidden_size, options.norm_eps, options.norms_from_one);
}

std::vector<Tensor> TextDecoder::hidden_states(Context& cx, const Tensor& input_ids,
                                               const Tensor* mask,
                                               const std::vector<int64_t>& chosen,
                                               const Tensor* positions) const {
  Tensor embedded = embed_tokens.forward(cx, input_ids);
  if (embedding_scale_ != 1.0) embedded = cx.ops().affine(cx, {embedded, embedding_scale_, 0.0});
  return states_of(cx, embedded, {.mask = mask, .chosen = chosen, .positions = positions});
}

Tensor TextDecoder::rotary_of(Context& cx, const Tensor& embedded, const Tensor* positions) const {
  if (!positions) {
    const Tensor counted = cx.ops().token_positions(cx, {embedded, embedded.size(1), 0, 0});
    const Tensor at = counted.narrow(1, 3, 1);
    return cx.ops().rotary_table(cx, {at, {head_dim_}, rope_theta_});
  }
  if (positions->size(1) == 1)
    return cx.ops().rotary_table(cx, {*positions, {head_dim_}, rope_theta_});
  // Each pair on an axis of its own, whose frequency is 1.
  const std::vector<int64_t> pairs(static_cast<size_t>(head_dim_ / 2), 2);
  return cx.ops().rotary_table(cx, {*positions, pairs, rope_theta_});
}

std::vector<Tensor> TextDecoder::states_of(Context& cx, const Tensor& embedded,
                                           const TextDecoderCall& call) const {
  const auto count = static_cast<int64_t>(layers.size());
  auto exists = [&](int64_t state) { return state >= 0 && state <= count; };
  ensure(!call.chosen.empty() && std::ranges::all_of(call.chosen, exists),
         "states 0 to {} can be chosen", count);
  Tensor bias;
  if (call.mask) bias = cx.ops().key_mask(cx, {*call.mask, cx.dtype()});
  TextDecoderPlaces places{rotary_of(cx, embedded, call.positions), call.mask ? &bias : nullptr};

  std::vector<Tensor> states(call.chosen.size());
  auto keep = [&](int64_t state, const Tensor& h) {
    for (size_t i = 0; i < call.chosen.size(); ++i)
      if (call.chosen[i] == state) states[i] = h;
  };
  keep(0, embedded);
  const auto last = static_cast<size_t>(std::ranges::max(call.chosen));
  run_blocks(
      cx, layers, {0, last}, embedded,
      [&](size_t i, const Tensor& x) { return layers[i].forward(cx, x, places); },
      [&](size_t i, Tensor& h) {
        const auto layer = static_cast<int64_t>(i);
        if (call.after_layer) h = call.after_layer(layer, h);
        const bool normed = layer + 1 == count && norm && call.normed;
        keep(layer + 1, normed ? norm->forward(cx, h) : h);
      });
  return states;
}

}  // namespace omnirt::nn
