#pragma once
#include <functional>
#include <optional>

#include "nn/layers.hpp"

namespace omnirt::nn {

// What the decoders of language models have in common that encode prompts (Llama's kind, Touvron et
// al. 2023, arXiv 2302.13971; here as Qwen3's, transformers modeling_qwen3.py): each token sees
// those before it, positions turn queries and keys, heads of queries share heads of keys, the
// perceptron is gated, norms are by root mean square.
struct TextDecoderOptions {
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  double norm_eps = 1e-6;
  double rope_theta = 10000;
  bool attention_bias = false;  // of queries, keys and values
  bool output_bias = false;     // of the attention's last product
  bool head_norms = true;       // of queries and keys, as in Qwen3
  bool final_norm = true;       // of the last layer's state; files of the first layers have none
  ops::Activation activation = ops::Activation::silu;
  double score_scale = 0.0;  // of queries times keys; 0: 1 / sqrt(head_dim)
  // As in Gemma 2 (Gemma Team 2024, arXiv 2408.00118):
  double soft_cap = 0.0;           // that scores are held within (ops::Attention)
  std::vector<int64_t> windows{};  // of each layer, how many keys a query sees; 0, or none: all
  bool norms_after = false;        // of what attention and perceptron give, too
  bool norms_from_one = false;     // norms multiply by 1 + weight
  double embedding_scale = 1.0;    // of embedded tokens
};

// What all layers of a call share.
struct TextDecoderPlaces {
  Tensor rotary;       // {2, T, head_dim / 2}: the tokens' positions (ops::RotaryTable)
  const Tensor* bias;  // {B, 1, 1, T}: keeps queries from padding; null: from nothing
};

class TextDecoderAttention final : public Module {
 public:
  // `window`: as options.windows has it of this layer.
  TextDecoderAttention(Module* parent, const std::string& name, const TextDecoderOptions& options,
                       int64_t window);
  // x and residual {B, T, D}; o_proj(attention) + residual, if any.
  Tensor forward(Context& cx, const Tensor& x, const TextDecoderPlaces& places,
                 const Tensor* residual) const;

  Linear q_proj, k_proj, v_proj, o_proj;
  std::optional<RmsNorm> q_norm, k_norm;  // of each head

 private:
  // Products split into heads, normalised and turned; {B, T, heads * d}.
  Tensor placed(Context& cx, const Tensor& product, const std::optional<RmsNorm>& norm,
                const TextDecoderPlaces& places) const;
  int64_t heads_, kv_heads_, head_dim_, window_;
  double scale_, soft_cap_;
};

// down_proj(act(gate_proj(x)) * up_proj(x)) (Shazeer 2020, arXiv 2002.05202).
class TextDecoderMLP final : public Module {
 public:
  TextDecoderMLP(Module* parent, const std::string& name, const TextDecoderOptions& options);
  // x and residual, if any, {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* residual) const;

  Linear gate_proj, up_proj, down_proj;

 private:
  ops::Activation activation_;
};

class TextDecoderLayer final : public Module {
 public:
  TextDecoderLayer(Module* parent, const std::string& name, const TextDecoderOptions& options,
                   int64_t window, const char* class_name);
  const char* class_name() const override { return class_name_; }
  // x {B, T, D}; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const TextDecoderPlaces& places) const;

  TextDecoderAttention self_attn;
  TextDecoderMLP mlp;
  // Where norms are before parts alone, the second is the perceptron's.
  RmsNorm input_layernorm, post_attention_layernorm;
  std::optional<RmsNorm> pre_feedforward_layernorm, post_feedforward_layernorm;

 private:
  const char* class_name_;
};

// What is asked of a decoder's states.
struct TextDecoderCall {
  const Tensor* mask = nullptr;   // {B, T}, 0 where a token is padding; null: there is none
  std::vector<int64_t> chosen{};  // as hidden_states has them
  // Of tokens that are not counted from 0: {T, 1} fp32, or the angles themselves by which the pairs
  // of a head turn, {T, head_dim / 2} fp32; null: they are.
  const Tensor* positions = nullptr;
  bool normed = true;  // the last layer's state, where the checkpoint has a norm
  // Called with what layer i returned, before the next one takes it; the state is what it gives
  // back. Empty: nothing.
  std::function<Tensor(int64_t layer, const Tensor& state)> after_layer{};
};

// The checkpoint's "model".
class TextDecoder final : public Module {
 public:
  // `layer_class` is what the layers are called in metadata.
  TextDecoder(Module* parent, const std::string& name, int64_t vocab_size,
              const TextDecoderOptions& options, const char* layer_class);

  // input_ids {B, T} int64; mask {B, T}, 0 where a token is padding, or null. The states {B, T, D}
  // that `chosen` names, in its order, counted as transformers does: 0 the embedded tokens, i what
  // layer i - 1 returns, and the last layer's normalised, where there is a norm. Layers after the
  // last one that is chosen are not computed. Tokens are at 0 and on, or at `positions` {T, 1}
  // fp32.
  std::vector<Tensor> hidden_states(Context& cx, const Tensor& input_ids, const Tensor* mask,
                                    const std::vector<int64_t>& chosen,
                                    const Tensor* positions = nullptr) const;
  // The same of tokens that are embedded already, {B, T, D}.
  std::vector<Tensor> states_of(Context& cx, const Tensor& embedded,
                                const TextDecoderCall& call) const;

  Embedding embed_tokens;
  ModuleList<TextDecoderLayer> layers;
  std::optional<RmsNorm> norm;

 private:
  // Where tokens at `positions`, or counted from 0, have their heads turned.
  Tensor rotary_of(Context& cx, const Tensor& embedded, const Tensor* positions) const;
  int64_t head_dim_;
  double rope_theta_, embedding_scale_;
};

}  // namespace omnirt::nn
