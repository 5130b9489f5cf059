#pragma once
#include <optional>

#include "nn/layers.hpp"

namespace omnirt::nn {

struct AttentionOptions {
  int64_t dim = 0;
  int64_t context_dim = 0;  // width of what keys and values are made of; 0: as the queries
  int64_t heads = 8;
  int64_t head_dim = 64;
  bool bias = false;  // of to_q, to_k, to_v
  bool upcast = false;
  int64_t norm_groups = 0;  // a GroupNorm before the projections; 0: none
  double norm_eps = 1e-5;
};

// Multi-head attention (diffusers attention_processor.py Attention).
class Attention final : public Module {
 public:
  Attention(Module* parent, const std::string& name, const AttentionOptions& options);
  const char* class_name() const override { return "Attention"; }
  // x {B, T, dim}; context {B, S, context_dim}, or null for attention to x itself. Returns
  // to_out(attention) + residual, {B, T, dim}. Keys and values of a context that stays the same
  // through the run are made once (Context::once).
  Tensor forward(Context& cx, const Tensor& x, const Tensor* context, const Tensor& residual) const;
  // Over the pixels of x {B, dim, H, W}: normalised, attended to, and added to x.
  Tensor forward_pixels(Context& cx, const Tensor& x) const;

  std::optional<GroupNorm> group_norm;
  Linear to_q, to_k, to_v;
  ModuleList<Linear> to_out;

 private:
  AttentionOptions options_;
};

}  // namespace omnirt::nn
