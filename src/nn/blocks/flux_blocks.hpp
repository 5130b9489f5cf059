#pragma once
#include "nn/blocks/ada_layer_norm.hpp"
#include "nn/blocks/gelu_feed_forward.hpp"
#include "nn/blocks/joint_attention.hpp"
#include "nn/blocks/time_text_embedding.hpp"
#include "nn/flux_transformer_2d_config.hpp"

namespace omnirt::nn {

// What all blocks are given beside their tokens.
struct FluxContext {
  Tensor activated;  // {B, D}: SiLU of the embedded timestep
  Tensor rotary;     // {2, T + L, head_dim / 2}: the tokens' positions, the text's first
};

// Where the tokens of a call are.
struct FluxPlaces {
  const Tensor& text;                     // {B, T, D}: lives as long as the run
  int64_t texts;                          // tokens before the image's, T or more
  int64_t height, width;                  // tokens of the image
  const Tensor* reference_ids = nullptr;  // {1, N, 4}: of reference images, after it
};

// The positions of all tokens, the text's first, as angles {2, T + L, head_dim / 2}: made once per
// run, text and size. A text's tokens share one: their order in it is left out (diffusers
// FluxPosEmbed).
Tensor flux_rotary(Context& cx, const std::vector<int64_t>& axes, const FluxPlaces& places);

// The norm before attention of each stream, and what modulates its attention and its perceptron.
struct FluxModulations {
  const LayerNorm &text_norm, &image_norm;
  std::vector<Modulation> text, image;
};

// Attention and perceptron over text and image, which have weights of their own, wherever their
// modulations come from.
class FluxStreams : public Module {
 public:
  SiteKind site_kind() const override { return SiteKind::block; }

  JointAttention attn;
  LayerNorm norm2;
  GeluFeedForward ff;
  LayerNorm norm2_context;
  GeluFeedForward ff_context;

 protected:
  FluxStreams(Module* parent, const std::string& name, const FluxTransformer2DConfig& config);
  // rotary, bias and images as JointAttention has them.
  TokenStream modulated(Context& cx, const TokenStream& x, const FluxModulations& by,
                        const Tensor& rotary, const Tensor* bias,
                        const PromptingImages& images = {}) const;
};

// The same with modulations that each block makes of the timestep (diffusers
// FluxTransformerBlock).
class FluxTransformerBlock final : public FluxStreams {
 public:
  FluxTransformerBlock(Module* parent, const std::string& name,
                       const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "FluxTransformerBlock"; }
  TokenStream forward(Context& cx, const TokenStream& x, const FluxContext& context,
                      const PromptingImages& images = {}) const;

  AdaLayerNormZero norm1, norm1_context;
};

// The projections of a block whose result goes with the perceptron's through one matrix.
class FluxSingleAttention final : public Module {
 public:
  FluxSingleAttention(Module* parent, const std::string& name,
                      const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "FluxAttention"; }
  // x {B, T, D}, rotary {2, T, head_dim / 2}, bias as attended_heads has it; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary,
                 const Tensor* bias = nullptr) const;

  Linear to_q, to_k, to_v;
  RmsNorm norm_q, norm_k;

 private:
  int64_t heads_;
};

// Attention and perceptron side by side over text and image (Dehghani et al. 2023, arXiv
// 2302.05442), wherever their modulation comes from.
class FluxParallel : public Module {
 public:
  SiteKind site_kind() const override { return SiteKind::block; }

  Linear proj_mlp;
  Linear proj_out;
  FluxSingleAttention attn;

 protected:
  FluxParallel(Module* parent, const std::string& name, const FluxTransformer2DConfig& config);
  // x {B, T + L, D}, text and image; {B, T + L, D}. rotary and bias as FluxSingleAttention has
  // them.
  Tensor modulated(Context& cx, const Tensor& x, const LayerNorm& norm, const Modulation& by,
                   const Tensor& rotary, const Tensor* bias) const;
};

// The same with a modulation that each block makes of the timestep (diffusers
// FluxSingleTransformerBlock).
class FluxSingleTransformerBlock final : public FluxParallel {
 public:
  FluxSingleTransformerBlock(Module* parent, const std::string& name,
                             const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "FluxSingleTransformerBlock"; }
  // x {B, T + L, D}, text and image; {B, T + L, D}.
  Tensor forward(Context& cx, const Tensor& x, const FluxContext& context) const;

  AdaLayerNormZero norm;
};

}  // namespace omnirt::nn
