#pragma once
#include "networks/qwen_image_transformer_2d_model/config.hpp"
#include "nn/blocks/gelu_feed_forward.hpp"
#include "nn/blocks/joint_attention.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// The timestep, embedded (diffusers transformer_qwenimage.py QwenTimestepProjEmbeddings).
class QwenTimestepProjEmbeddings final : public nn::Module {
 public:
  QwenTimestepProjEmbeddings(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "QwenTimestepProjEmbeddings"; }
  // timestep {B}, 0..1000; {B, D}.
  Tensor forward(Context& cx, const Tensor& timestep) const;

  nn::TimestepEmbedding timestep_embedder;
};

// What all blocks of a call share.
struct QwenImageCall {
  Tensor activated;    // {B, D}: SiLU of the embedded timestep
  Tensor rotary;       // {2, T + L, head_dim / 2}: the tokens' positions, the text's first
  const Tensor* bias;  // {B, 1, 1, T + L}: keeps queries from padding of texts; null: none
  // Tokens of the image that is made, the first of L; those after them, of reference images, are
  // modulated by `of_references` {B, D} where it is defined, else by `activated`.
  int64_t made;
  Tensor of_references;
};

// Attention and perceptron over text and image, which have weights of their own (diffusers
// QwenImageTransformerBlock).
class QwenImageTransformerBlock final : public nn::Module {
 public:
  QwenImageTransformerBlock(Module* parent, const std::string& name,
                            const QwenImageTransformer2DConfig& config);
  const char* class_name() const override { return "QwenImageTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  nn::TextAndImage forward(Context& cx, const nn::TextAndImage& x, const QwenImageCall& call) const;

  nn::ModuleList<nn::Linear> img_mod;  // 0 is the activation
  nn::LayerNorm img_norm1;
  nn::JointAttention attn;
  nn::LayerNorm img_norm2;
  nn::GeluFeedForward img_mlp;
  nn::ModuleList<nn::Linear> txt_mod;
  nn::LayerNorm txt_norm1, txt_norm2;
  nn::GeluFeedForward txt_mlp;
};

// A layer norm whose scale and shift depend on the timestep (diffusers normalization.py
// AdaLayerNormContinuous).
class QwenImageNormOut final : public nn::Module {
 public:
  QwenImageNormOut(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "AdaLayerNormContinuous"; }
  // x {B, L, D}, activated {B, D}: SiLU of the embedded timestep.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  nn::Linear linear;
  nn::LayerNorm norm;
};

}  // namespace omnirt
