#pragma once
#include <array>
#include <optional>

#include "nn/layers.hpp"

namespace omnirt::nn {

// The projections of an attention, whose queries and keys may be normalised over all heads.
class SanaAttention : public Module {
 public:
  struct Options {
    int64_t dim = 0;
    int64_t context_dim = 0;
    int64_t heads = 1;
    int64_t head_dim = 0;
    bool bias = true;  // of to_q, to_k, to_v
    bool norm = false;
  };
  SanaAttention(Module* parent, const std::string& name, const Options& options);
  const char* class_name() const override { return "Attention"; }

  Linear to_q, to_k, to_v;
  std::optional<RmsNorm> norm_q, norm_k;
  ModuleList<Linear> to_out;

 protected:
  Tensor query(Context& cx, const Tensor& x) const;
  Tensor key(Context& cx, const Tensor& x) const;

  Options options_;
};

// Attention of an image's tokens to each other, linear in their number (diffusers
// attention_processor.py SanaLinearAttnProcessor2_0).
class SanaLinearAttention final : public SanaAttention {
 public:
  using SanaAttention::SanaAttention;
  SiteKind site_kind() const override { return SiteKind::self_attention; }
  // {B, T, dim}, of an image of `grid` {height, width} tokens.
  Tensor forward(Context& cx, const Tensor& x, const std::array<int64_t, 2>& grid) const;
};

// Attention to a text, plus `residual` (diffusers sana_transformer.py SanaAttnProcessor2_0). Keys
// and values of a text that stays the same through the run are made once.
class SanaCrossAttention final : public SanaAttention {
 public:
  using SanaAttention::SanaAttention;
  // x {B, T, dim}, text {B, S, context_dim}; {B, T, dim}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& text, const Tensor& residual) const;
};

}  // namespace omnirt::nn
