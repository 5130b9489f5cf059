#pragma once
#include <optional>

#include "nn/blocks/gelu_feed_forward.hpp"
#include "nn/blocks/joint_attention.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/layers.hpp"
#include "nn/qwen_image_transformer_2d_config.hpp"

namespace omnirt::nn {

// The timestep, embedded (diffusers transformer_qwenimage.py QwenTimestepProjEmbeddings).
class QwenTimestepProjEmbeddings final : public Module {
 public:
  // `additional`: there is an embedding of what else is said, 0 or 1. `bias`: of the two layers.
  QwenTimestepProjEmbeddings(Module* parent, const std::string& name, int64_t dim,
                             bool additional = false, bool bias = true);
  const char* class_name() const override { return "QwenTimestepProjEmbeddings"; }
  // timestep {B}, 0..1000; additional {B} int64, where there is an embedding of it, or null; {B,
  // D}.
  Tensor forward(Context& cx, const Tensor& timestep, const Tensor* additional = nullptr) const;

  TimestepEmbedding timestep_embedder;
  std::optional<Embedding> addition_t_embedding;
};

// Where the tokens of a call are.
struct QwenImagePlaces {
  const Tensor& text;                     // {B, T, D}: lives as long as the run
  int64_t height, width;                  // tokens of the image that is made
  const Tensor* text_start = nullptr;     // {B, 1}: the text's first position; null: by the image
  const Tensor* text_ids = nullptr;       // {B, T'}: places of tokens of texts; null: T in order
  const Tensor* reference_ids = nullptr;  // {1, N, 3}: of reference images, after the image
  const Tensor* sample_ids = nullptr;     // {1, L, 3}: of the image's tokens; null: as of one image
};

// The positions of all tokens, the text's first, as angles {2, T + L, head_dim / 2}: made once per
// run, text and size. The text continues the images' diagonal (diffusers QwenEmbedRope).
Tensor qwen_image_rotary(Context& cx, const std::vector<int64_t>& axes, const QwenImagePlaces& at);
// Positions of an image's tokens, whose rows and columns are counted from its middle: {H W, 3} of
// {frame, row, column}, of those that ops::TokenPositions has for them.
Tensor from_the_middle(Context& cx, const Tensor& positions, int64_t height, int64_t width,
                       double frame = 0.0);
// What keeps queries from padding of texts, {B, 1, 1, T + L}, for image tokens {B, L, D}: made once
// per run. mask {B, T}: 0 where a text has padding; lives as long as the run.
Tensor qwen_image_bias(Context& cx, const Tensor& mask, const Tensor& tokens);

// What all blocks of a call share.
struct QwenImageCall {
  Tensor activated;       // {B, D}: SiLU of the embedded timestep
  Tensor rotary;          // {2, T + L, head_dim / 2}: the tokens' positions, the text's first
  Tensor bias;            // {B, 1, 1, T + L}: masks padding of texts; undefined: none
  int64_t height, width;  // tokens of the image that is made, the first of L
  // {B, D}: what modulates the tokens after them, of reference images; undefined: `activated`.
  Tensor of_references;
};

// Attention and perceptron over text and image, which have weights of their own (diffusers
// QwenImageTransformerBlock).
class QwenImageTransformerBlock final : public Module {
 public:
  QwenImageTransformerBlock(Module* parent, const std::string& name,
                            const QwenImageTransformer2DConfig& config);
  const char* class_name() const override { return "QwenImageTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  TokenStream forward(Context& cx, const TokenStream& x, const QwenImageCall& call) const;

  ModuleList<Linear> img_mod;  // 0 is the activation
  LayerNorm img_norm1;
  JointAttention attn;
  LayerNorm img_norm2;
  GeluFeedForward img_mlp;
  ModuleList<Linear> txt_mod;
  LayerNorm txt_norm1, txt_norm2;
  GeluFeedForward txt_mlp;
};

// A layer norm whose scale and shift depend on the timestep (diffusers normalization.py
// AdaLayerNormContinuous).
class QwenImageNormOut final : public Module {
 public:
  QwenImageNormOut(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "AdaLayerNormContinuous"; }
  // x {B, L, D}, activated {B, D}: SiLU of the embedded timestep.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  Linear linear;
  LayerNorm norm;
};

}  // namespace omnirt::nn
