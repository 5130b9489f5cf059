#pragma once
#include "networks/flux_transformer_2d_model/config.hpp"
#include "nn/blocks/ada_layer_norm.hpp"
#include "nn/blocks/gelu_feed_forward.hpp"
#include "nn/blocks/joint_attention.hpp"
#include "nn/blocks/time_text_embedding.hpp"

namespace omnirt {

// What all blocks are given beside their tokens.
struct FluxContext {
  Tensor activated;  // {B, D}: SiLU of the embedded timestep
  Tensor rotary;     // {2, T + L, head_dim / 2}: the tokens' positions, the text's first
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

  nn::AdaLayerNormZero norm1, norm1_context;
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

  nn::AdaLayerNormZero norm;
  nn::Linear proj_mlp;
  nn::Linear proj_out;
  FluxSingleAttention attn;
};

}  // namespace omnirt
