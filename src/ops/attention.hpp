#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// Scaled dot-product attention over heads (Vaswani et al. 2017, arXiv 1706.03762).
// x (the queries) {B, Tq, heads * d}, key and value {B, Tk, kv_heads * d}; y {B, Tq, heads * d}.
struct Attention {
  static constexpr const char* name = "attention";
  static constexpr const char* summary = "y = softmax(scale x key^T + bias) value, by heads";
  const Tensor& x;
  const Tensor& key;
  const Tensor& value;
  int64_t heads;
  double scale;
  bool causal = false;  // query i sees keys 0..i, both counted from the start
  // Scores and softmax in fp32 whatever the dtype, as SD2.x checkpoints ask by upcast_attention.
  bool upcast = false;
  // Added to the scores before the softmax, {B or 1, heads or 1, Tq or 1, Tk}: masks (-infinity
  // keeps a query from a key; one kept from all is 0), relative positions. Null: nothing.
  const Tensor* bias = nullptr;
  // Heads of keys and values, each of which heads / kv_heads consecutive heads of queries share
  // (Ainslie et al. 2023, arXiv 2305.13245). 0: as many as heads.
  int64_t kv_heads = 0;
  // Scores are held within it before the bias: tanh(score / soft_cap) * soft_cap (Gemma Team 2024,
  // arXiv 2408.00118). 0: they are not.
  double soft_cap = 0.0;
  // Where causal: a query sees itself and the window - 1 keys before it. 0: all before it.
  int64_t window = 0;
  int64_t key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  // Whether scores are as they come, and keys are seen however far away they are.
  bool plain() const { return soft_cap == 0.0 && (window == 0 || window >= key.size(1)); }
  static Shape shape(const Attention& args) { return args.x.sizes().vec(); }
  static Tensor reference(const Attention& args);
  static bool fits(const Attention& args);
  static Samples<Attention> samples();
};

// The bias of attention that keeps all queries from keys that are padding. x {B, T}, 0 where a key
// is one; y {B, 1, 1, T} in `dtype`: 0, or -infinity for padding.
struct KeyMask {
  static constexpr const char* name = "key_mask";
  static constexpr const char* summary = "what keeps queries from keys that are padding";
  const Tensor& x;
  at::ScalarType dtype;
  static Shape shape(const KeyMask& args) { return {args.x.size(0), 1, 1, args.x.size(1)}; }
  static Tensor reference(const KeyMask& args);
  static bool fits(const KeyMask& args);
  static Samples<KeyMask> samples();
};

}  // namespace omnirt::ops
