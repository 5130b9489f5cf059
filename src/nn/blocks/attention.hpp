#pragma once
#include <array>
#include <optional>

#include "nn/blocks/attention_context.hpp"
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
  SiteKind site_kind() const override {
    return options_.context_dim > 0 ? SiteKind::none : SiteKind::self_attention;
  }
  // x {B, T, dim}; context {B, S, context_dim}, or null for attention to x itself. Returns
  // to_out(attention) + residual, {B, T, dim}. Keys and values of a context that stays the same
  // through the run are made once (Context::once). A site plan may change attention to x itself;
  // `grid` is the {height, width} of the image that the tokens are, where they are one.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* context, const Tensor& residual,
                 const std::array<int64_t, 2>& grid = {0, 0}) const;
  // The same with a bias on the scores (ops::Attention::bias; null: none), and no residual where
  // that is null.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* context, const Tensor* bias,
                 const Tensor* residual, const std::array<int64_t, 2>& grid = {0, 0}) const;
  // Attention to context.text; where the context has entities, each token attends to those whose
  // part of the image it is in, by their weights; where it has image prompts, to these too.
  Tensor forward(Context& cx, const Tensor& x, const AttentionContext& context,
                 const Tensor& residual) const;
  // Over the pixels of x {B, dim, H, W}: normalised, attended to, and added to x.
  Tensor forward_pixels(Context& cx, const Tensor& x) const;

  std::optional<GroupNorm> group_norm;
  Linear to_q, to_k, to_v;
  ModuleList<Linear> to_out;

 private:
  // Heads of `query` over the keys and values of `source`, before to_out. `site` distinguishes what
  // is kept of several sources; `rows` as in AttentionContext.
  Tensor attended(Context& cx, const Tensor& query, const Tensor& source, const Tensor* bias,
                  const std::string& site = "", const std::vector<int64_t>& rows = {}) const;
  Tensor attended_by_parts(Context& cx, const Tensor& query, const AttentionContext& context) const;
  Tensor blurred(Context& cx, const Tensor& query, const SiteChange& change,
                 const std::array<int64_t, 2>& grid) const;
  AttentionOptions options_;
};

}  // namespace omnirt::nn
