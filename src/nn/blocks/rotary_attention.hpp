#pragma once
#include <optional>

#include "nn/layers.hpp"

namespace omnirt::nn {

struct RotaryAttentionOptions {
  int64_t dim = 0;
  int64_t heads = 1;
  int64_t kv_heads = 0;  // 0: as many as heads
  bool qk_norm = true;   // of each head's queries and keys
  double norm_eps = 1e-5;
  bool norms_from_one = false;
};

// Attention of all tokens to all, queries and keys normalised by heads and rotated by the tokens'
// positions (diffusers ZSingleStreamAttnProcessor, Lumina2AttnProcessor2_0).
class RotaryAttention : public Module {
 public:
  RotaryAttention(Module* parent, const std::string& name, const RotaryAttentionOptions& options);
  const char* class_name() const override { return "Attention"; }
  // x {B, T, dim}, rotary {2, T, head_dim / 2}; {B, T, dim}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary) const;

  Linear to_q, to_k, to_v;
  std::optional<RmsNorm> norm_q, norm_k;
  ModuleList<Linear> to_out;

 protected:
  // Queries and keys as attention takes them, and values, {B, T, D} each; those of keys and values
  // may be of other tokens.
  struct Parts {
    Tensor query, key, value;
  };
  // rotary may be null: tokens have no positions.
  Parts parts(Context& cx, const Tensor& x, const Tensor* rotary) const;
  // `causal`, `bias`: as in ops::Attention.
  Tensor attended(Context& cx, const Parts& of, bool causal = false,
                  const Tensor* bias = nullptr) const;
  // What comes before to_out.
  Tensor attended(Context& cx, const Tensor& x, const Tensor* rotary) const {
    return attended(cx, parts(cx, x, rotary));
  }

 private:
  Tensor placed(Context& cx, const Tensor& x, const std::optional<RmsNorm>& norm,
                const Tensor* rotary) const;
  int64_t heads_, kv_heads_, head_dim_;
};

// y = x * (1 + scale) for tokens {B, T, D} and a scale {B, 1, D}.
Tensor scaled_tokens(Context& cx, const Tensor& x, const Tensor& scale);

// The norms of a block before and after attention and perceptron (diffusers ZImageTransformerBlock,
// Lumina2TransformerBlock).
struct SandwichNorms {
  const RmsNorm& before_attention;
  const RmsNorm& after_attention;
  const RmsNorm& before_perceptron;
  const RmsNorm& after_perceptron;
};

// x + norm(attention(norm(x))), and the same of the perceptron. x {B, T, D}.
template <class Attend, class Perceive>
Tensor sandwiched(Context& cx, const Tensor& x, const SandwichNorms& norms, Attend&& attention,
                  Perceive&& perceptron) {
  Tensor attended = attention(norms.before_attention.forward(cx, x));
  Tensor h = cx.ops().add(cx, {norms.after_attention.forward(cx, attended), x});
  Tensor through = perceptron(norms.before_perceptron.forward(cx, h));
  return cx.ops().add(cx, {norms.after_perceptron.forward(cx, through), h});
}

// The scale of what goes into attention, the gate of what comes out, and the perceptron's.
struct SandwichModulation {
  Tensor scale_attention, gate_attention, scale_perceptron, gate_perceptron;  // {B, 1, D}
  // Of {B, 4 D}, in this order.
  static SandwichModulation of(const Tensor& all);
};

// x + tanh(gate) * norm(through).
Tensor gated_tokens(Context& cx, const Tensor& x, const Tensor& through, const RmsNorm& after,
                    const Tensor& gate);

// x + tanh(gate) * norm(attention(norm(x) * (1 + scale))); one half of a block.
template <class Part>
Tensor modulated_half(Context& cx, const Tensor& x, const RmsNorm& before, const RmsNorm& after,
                      const Tensor& scale, const Tensor& gate, Part&& part) {
  Tensor through = part(scaled_tokens(cx, before.forward(cx, x), scale));
  return gated_tokens(cx, x, through, after, gate);
}

}  // namespace omnirt::nn
