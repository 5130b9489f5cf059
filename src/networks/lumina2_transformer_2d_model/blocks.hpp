#pragma once
#include <optional>

#include "networks/lumina2_transformer_2d_model/config.hpp"
#include "nn/blocks/rotary_attention.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// linear_2(silu(linear_1 x) * linear_3 x) (diffusers LuminaFeedForward).
class Lumina2FeedForward final : public nn::Module {
 public:
  Lumina2FeedForward(Module* parent, const std::string& name,
                     const Lumina2Transformer2DConfig& config, SiteKind site);
  const char* class_name() const override { return "LuminaFeedForward"; }
  SiteKind site_kind() const override { return site_; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Linear linear_1, linear_2, linear_3;

 private:
  SiteKind site_;
};

// The norm before attention and what the timestep makes of the block (diffusers LuminaRMSNormZero).
class Lumina2NormZero final : public nn::Module {
 public:
  Lumina2NormZero(Module* parent, const std::string& name,
                  const Lumina2Transformer2DConfig& config);

  nn::Linear linear;
  nn::RmsNorm norm;
};

// Attention and perceptron, each between two norms; modulated by the timestep where tokens are an
// image's, or of both (diffusers Lumina2TransformerBlock).
class Lumina2TransformerBlock final : public nn::Module {
 public:
  Lumina2TransformerBlock(Module* parent, const std::string& name,
                          const Lumina2Transformer2DConfig& config, bool modulated);
  const char* class_name() const override { return "Lumina2TransformerBlock"; }
  // Blocks without modulation see the text alone, once per run, so that no step changes them.
  SiteKind site_kind() const override { return modulated_norm ? SiteKind::block : SiteKind::none; }
  // x {B, T, D}, rotary {2, T, head_dim / 2}; activated, silu of the embedded timestep, {B, M}
  // where modulated.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary, const Tensor& activated) const;

  std::optional<nn::RmsNorm> plain_norm;          // "norm1" of the one kind
  std::optional<Lumina2NormZero> modulated_norm;  // and of the other
  nn::RotaryAttention attn;
  Lumina2FeedForward feed_forward;
  nn::RmsNorm ffn_norm1, norm2, ffn_norm2;

 private:
  Tensor plain(Context& cx, const Tensor& x, const Tensor& rotary) const;
  Tensor modulated(Context& cx, const Tensor& x, const Tensor& rotary,
                   const Tensor& activated) const;
};

// A text's states, normalised and as wide as the blocks.
class Lumina2CaptionEmbedder final : public nn::Module {
 public:
  Lumina2CaptionEmbedder(Module* parent, const std::string& name,
                         const Lumina2Transformer2DConfig& config);
  // {B, T, cap_feat_dim} -> {B, T, D}.
  Tensor forward(Context& cx, const Tensor& text) const;

  nn::RmsNorm norm;
  nn::Linear linear;
};

// Timestep and text as the blocks take them (diffusers Lumina2CombinedTimestepCaptionEmbedding).
class Lumina2Embedding final : public nn::Module {
 public:
  Lumina2Embedding(Module* parent, const std::string& name,
                   const Lumina2Transformer2DConfig& config);

  nn::TimestepEmbedding timestep_embedder;
  Lumina2CaptionEmbedder caption_embedder;
};

// A norm scaled by the timestep, and what tokens predict (diffusers LuminaLayerNormContinuous).
class Lumina2NormOut final : public nn::Module {
 public:
  Lumina2NormOut(Module* parent, const std::string& name, const Lumina2Transformer2DConfig& config);
  const char* class_name() const override { return "LuminaLayerNormContinuous"; }
  // x {B, T, D}, activated {B, M}; {B, T, patch_size^2 out_channels}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  nn::Linear linear_1;
  nn::LayerNorm norm;
  nn::Linear linear_2;
};

}  // namespace omnirt
