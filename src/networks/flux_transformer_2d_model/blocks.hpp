#pragma once
#include <optional>

#include "networks/flux_transformer_2d_model/config.hpp"
#include "nn/blocks/gelu_feed_forward.hpp"
#include "nn/blocks/joint_attention.hpp"
#include "nn/blocks/time_embedding.hpp"

namespace omnirt {

// Timestep, the prompt as a whole and, in models that were distilled of guided ones, guidance scale
// (diffusers embeddings.py CombinedTimestepGuidanceTextProjEmbeddings).
class FluxTimeTextEmbeddings final : public nn::Module {
 public:
  FluxTimeTextEmbeddings(Module* parent, const std::string& name,
                         const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "CombinedTimestepGuidanceTextProjEmbeddings"; }
  // timestep {B}, 0..1000; guidance {B}, a scale, or null; pooled {B, P}. {B, D}.
  Tensor forward(Context& cx, const Tensor& timestep, const Tensor* guidance,
                 const Tensor& pooled) const;

  nn::TimestepEmbedding timestep_embedder;
  std::optional<nn::TimestepEmbedding> guidance_embedder;
  nn::TimestepEmbedding text_embedder;  // of the same two layers
};

// Shift, scale and gate for one part of a block, {B, 1, D} each.
struct FluxModulation {
  Tensor shift, scale, gate;
};

// A layer norm without weights, and what the timestep makes of shifts, scales and gates for `parts`
// parts of a block (diffusers normalization.py AdaLayerNormZero, AdaLayerNormZeroSingle).
class FluxAdaLayerNorm final : public nn::Module {
 public:
  FluxAdaLayerNorm(Module* parent, const std::string& name, int64_t dim, int64_t parts);
  const char* class_name() const override { return "AdaLayerNormZero"; }
  // activated {B, D}: SiLU of the embedded timestep.
  std::vector<FluxModulation> modulations(Context& cx, const Tensor& activated) const;

  nn::Linear linear;
  nn::LayerNorm norm;
};

// What all blocks are given beside their tokens.
struct FluxContext {
  Tensor activated;  // {B, D}: SiLU of the embedded timestep
  Tensor rotary;     // {2, T + L, head_dim / 2}: where the tokens stand, the text's first
};

// Attention and perceptron over text and image, which have weights of their own (diffusers
// FluxTransformerBlock).
class FluxTransformerBlock final : public nn::Module {
 public:
  FluxTransformerBlock(Module* parent, const std::string& name,
                       const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "FluxTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  nn::TextAndImage forward(Context& cx, const nn::TextAndImage& x,
                           const FluxContext& context) const;

  FluxAdaLayerNorm norm1, norm1_context;
  nn::JointAttention attn;
  nn::LayerNorm norm2;
  nn::GeluFeedForward ff;
  nn::LayerNorm norm2_context;
  nn::GeluFeedForward ff_context;
};

// The projections of a block whose result goes with the perceptron's through one matrix.
class FluxSingleAttention final : public nn::Module {
 public:
  FluxSingleAttention(Module* parent, const std::string& name,
                      const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "FluxAttention"; }
  // x {B, T, D}, rotary {2, T, head_dim / 2}; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary) const;

  nn::Linear to_q, to_k, to_v;
  nn::RmsNorm norm_q, norm_k;

 private:
  int64_t heads_;
};

// Attention and perceptron side by side (Dehghani et al. 2023, arXiv 2302.05442; diffusers
// FluxSingleTransformerBlock).
class FluxSingleTransformerBlock final : public nn::Module {
 public:
  FluxSingleTransformerBlock(Module* parent, const std::string& name,
                             const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "FluxSingleTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // x {B, T + L, D}, text and image; {B, T + L, D}.
  Tensor forward(Context& cx, const Tensor& x, const FluxContext& context) const;

  FluxAdaLayerNorm norm;
  nn::Linear proj_mlp;
  nn::Linear proj_out;
  FluxSingleAttention attn;
};

// A layer norm whose scale and shift depend on the timestep (diffusers normalization.py
// AdaLayerNormContinuous).
class FluxNormOut final : public nn::Module {
 public:
  FluxNormOut(Module* parent, const std::string& name, const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "AdaLayerNormContinuous"; }
  // x {B, T, D}, activated {B, D}: SiLU of the embedded timestep.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  nn::Linear linear;
  nn::LayerNorm norm;
};

}  // namespace omnirt
