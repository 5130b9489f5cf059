#pragma once
#include "nn/blocks/attention.hpp"
#include "nn/blocks/attention_context.hpp"

namespace omnirt::nn {

// A projection to twice `inner`, one half gating the other (diffusers activations.py GEGLU).
class GEGLU final : public Module {
 public:
  GEGLU(Module* parent, const std::string& name, int64_t dim, int64_t inner);
  const char* class_name() const override { return "GEGLU"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  Linear proj;
};

// The checkpoint's "net": 0 is the gate, 1 a dropout without parameters, 2 the projection back.
class FeedForwardNet final : public Module {
 public:
  FeedForwardNet(Module* parent, const std::string& name, int64_t dim, int64_t inner);

  GEGLU gate;
  Linear out;
};

// dim -> 4 dim, gated -> dim (diffusers attention.py FeedForward).
class FeedForward final : public Module {
 public:
  FeedForward(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "FeedForward"; }
  SiteKind site_kind() const override { return SiteKind::feed_forward; }
  // x and residual {B, T, dim}; feed_forward(x) + residual.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual) const;

  FeedForwardNet net;
};

struct TransformerOptions {
  int64_t heads = 8;
  int64_t head_dim = 64;
  int64_t context_dim = 0;
  bool only_cross_attention = false;  // the first attention attends to the context too
  bool upcast_attention = false;
  bool linear_projection = false;  // Transformer2DModel: proj_in and proj_out are Linear, not 1x1
  int64_t norm_groups = 32;        // Transformer2DModel
  int64_t layers = 1;              // Transformer2DModel
};

// Attention, attention to the context, feed-forward, each after a LayerNorm (diffusers attention.py
// BasicTransformerBlock with norm_type "layer_norm").
class BasicTransformerBlock final : public Module {
 public:
  BasicTransformerBlock(Module* parent, const std::string& name, int64_t dim,
                        const TransformerOptions& options);
  const char* class_name() const override { return "BasicTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // x {B, T, dim}, context.text {B, S, context_dim}; {B, T, dim}.
  Tensor forward(Context& cx, const Tensor& x, const AttentionContext& context) const;

  LayerNorm norm1;
  Attention attn1;
  LayerNorm norm2;
  Attention attn2;
  LayerNorm norm3;
  FeedForward ff;

 private:
  bool only_cross_attention_;
};

}  // namespace omnirt::nn
