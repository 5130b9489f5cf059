#pragma once
#include <optional>

#include "networks/aura_flow_transformer_2d_model/config.hpp"
#include "nn/blocks/ada_layer_norm.hpp"
#include "nn/blocks/joint_attention.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// Latents -> tokens, a patch each, with where they lie: the middle of the checkpoint's square of
// positions (diffusers AuraFlowPatchEmbed).
class AuraFlowPatchEmbed final : public nn::Module {
 public:
  AuraFlowPatchEmbed(Module* parent, const std::string& name,
                     const AuraFlowTransformer2DConfig& config);
  const char* class_name() const override { return "AuraFlowPatchEmbed"; }
  // {B, C, H, W} -> {B, H/patch * W/patch, D}. The positions are kept with `run_value`, which lives
  // as long as the run.
  Tensor forward(Context& cx, const Tensor& latents, const Tensor& run_value) const;

  Param pos_embed;  // {1, pos_embed_max_size, D}, row by row
  nn::Linear proj;

 private:
  Tensor middle(Context& cx, int64_t height, int64_t width) const;

  int64_t patch_size_, side_;
};

// out_projection(silu(linear_1 x) * linear_2 x) (diffusers AuraFlowFeedForward).
class AuraFlowFeedForward final : public nn::Module {
 public:
  AuraFlowFeedForward(Module* parent, const std::string& name,
                      const AuraFlowTransformer2DConfig& config);
  const char* class_name() const override { return "AuraFlowFeedForward"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Linear linear_1, linear_2, out_projection;
};

// Attention of tokens to all, queries and keys normalised by heads; text and image have projections
// of their own where `both` (diffusers AuraFlowAttnProcessor2_0).
class AuraFlowAttention final : public nn::Module {
 public:
  AuraFlowAttention(Module* parent, const std::string& name,
                    const AuraFlowTransformer2DConfig& config, bool both);
  const char* class_name() const override { return "Attention"; }
  // x {B, T, D}; as x.
  Tensor forward(Context& cx, const Tensor& x) const;
  nn::TokenStream forward(Context& cx, const nn::TokenStream& x) const;

  nn::Linear to_q, to_k, to_v;
  std::optional<nn::Linear> add_k_proj, add_v_proj, add_q_proj;
  nn::ModuleList<nn::Linear> to_out;
  std::optional<nn::Linear> to_add_out;

 private:
  Tensor normed(Context& cx, const Tensor& x) const;
  Tensor attended(Context& cx, const Tensor& query, const Tensor& key, const Tensor& value) const;

  nn::LayerNorm head_norm_;  // without weights: of queries and keys alike
  int64_t heads_, head_dim_;
};

// Attention and perceptron over text and image, which have weights of their own (diffusers
// AuraFlowJointTransformerBlock).
class AuraFlowJointTransformerBlock final : public nn::Module {
 public:
  AuraFlowJointTransformerBlock(Module* parent, const std::string& name,
                                const AuraFlowTransformer2DConfig& config);
  const char* class_name() const override { return "AuraFlowJointTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // activated {B, D}: SiLU of the embedded timestep.
  nn::TokenStream forward(Context& cx, const nn::TokenStream& x, const Tensor& activated) const;

  nn::AdaLayerNormZero norm1, norm1_context;
  AuraFlowAttention attn;
  nn::LayerNorm norm2;
  AuraFlowFeedForward ff;
  nn::LayerNorm norm2_context;
  AuraFlowFeedForward ff_context;
};

// The same over one stream of both (diffusers AuraFlowSingleTransformerBlock).
class AuraFlowSingleTransformerBlock final : public nn::Module {
 public:
  AuraFlowSingleTransformerBlock(Module* parent, const std::string& name,
                                 const AuraFlowTransformer2DConfig& config);
  const char* class_name() const override { return "AuraFlowSingleTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // x {B, T + L, D}, activated {B, D}; as x.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  nn::AdaLayerNormZero norm1;
  AuraFlowAttention attn;
  nn::LayerNorm norm2;
  AuraFlowFeedForward ff;
};

// Tokens scaled and shifted by the timestep, without a norm (diffusers AuraFlowPreFinalBlock).
class AuraFlowPreFinalBlock final : public nn::Module {
 public:
  AuraFlowPreFinalBlock(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "AuraFlowPreFinalBlock"; }
  // x {B, T, D}, activated {B, D}: SiLU of the embedded timestep; as x.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  nn::Linear linear;
};

}  // namespace omnirt
