#pragma once
#include <vector>

#include "nn/blocks/kept_tokens.hpp"
#include "nn/layers.hpp"
#include "nn/run_blocks.hpp"

namespace omnirt::nn {

// x {B, T, heads * d}, normalised over each head and rotated by the tokens' positions, as queries
// and keys are; rotary {2, T, d / 2} (ops::RotaryTable). {B, T, heads * d}.
Tensor turned_heads(Context& cx, const RmsNorm& norm, const Tensor& x, int64_t heads,
                    const Tensor& rotary);
// Attention over heads of {B, T, heads * d}, with a bias on its scores (ops::Attention::bias; null:
// none); as the query.
Tensor attended_heads(Context& cx, const Tensor& query, const Tensor& key, const Tensor& value,
                      int64_t heads, const Tensor* bias = nullptr);

// An image as a prompt: keys and values that the image's tokens attend to apart from the text's
// (IP-Adapter); of one adapter each, {B, N, heads * d}.
struct PromptingImages {
  std::vector<Tensor> keys, values;
};

// What attention makes of text and image, and of an image's tokens and the prompting images, if
// there are any: {B, L, heads * d}.
struct JointlyAttended : TokenStream {
  Tensor prompted;
};

struct JointAttentionOptions {
  int64_t heads = 1;
  int64_t head_dim = 1;
  double eps = 1e-6;
  bool bias = false;  // of all projections
};

// Attention of text and image to both, each with projections of its own (Esser et al. 2024, arXiv
// 2403.03206; diffusers FluxAttention, Flux2Attention with added_kv_proj_dim).
class JointAttention final : public Module {
 public:
  JointAttention(Module* parent, const std::string& name, const JointAttentionOptions& options);
  const char* class_name() const override { return "JointAttention"; }
  // rotary {2, T + L, head_dim / 2}: the tokens' positions, the text's first; bias as
  // attended_heads has it; `before`: of tokens that both attend to as well, without a bias. Steps
  // may predict it (Context::predicted_attention).
  JointlyAttended forward(Context& cx, const TokenStream& x, const Tensor& rotary,
                          const Tensor* bias = nullptr, const PromptingImages& images = {},
                          const KeysAndValues& before = {}) const;
  // Of an image's tokens to each other, {B, L, D}, whose keys and values `made` is set to;
  // undefined where `keys_alone`.
  Tensor of_image_alone(Context& cx, const Tensor& x, const Tensor& rotary, KeysAndValues& made,
                        bool keys_alone) const;

  Linear to_q, to_k, to_v;
  RmsNorm norm_q, norm_k;
  ModuleList<Linear> to_out;
  RmsNorm norm_added_q, norm_added_k;
  Linear add_q_proj, add_k_proj, add_v_proj, to_add_out;

 private:
  JointlyAttended computed(Context& cx, const TokenStream& x, const Tensor& rotary,
                           const Tensor* bias, const PromptingImages& images,
                           const KeysAndValues& before) const;
  Tensor prompted(Context& cx, const Tensor& query, const PromptingImages& images) const;

  int64_t heads_;
};

}  // namespace omnirt::nn
