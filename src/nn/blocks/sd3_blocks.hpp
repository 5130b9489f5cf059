#pragma once
#include <array>
#include <optional>

#include "nn/blocks/ada_layer_norm.hpp"
#include "nn/blocks/gelu_feed_forward.hpp"
#include "nn/blocks/joint_attention.hpp"
#include "nn/sd3_transformer_2d_config.hpp"

namespace omnirt::nn {

// Latents -> tokens, a patch each, with where they lie: the middle of a table that the checkpoint
// brings, if any (diffusers embeddings.py PatchEmbed with pos_embed_max_size, or with
// pos_embed_type None).
class SD3PatchEmbed final : public Module {
 public:
  SD3PatchEmbed(Module* parent, const std::string& name, const SD3Transformer2DConfig& config,
                bool positions = true);
  const char* class_name() const override { return "PatchEmbed"; }
  // {B, C, H, W} -> {B, H/patch * W/patch, D}. The positions are kept with `run_value`, which lives
  // as long as the run.
  Tensor forward(Context& cx, const Tensor& latents, const Tensor& run_value) const;

  Param pos_embed;  // {1, max size squared, D}, row by row
  Conv2d proj;

 private:
  Tensor cropped(Context& cx, int64_t height, int64_t width) const;

  int64_t max_size_;
};

// Rows and columns of an image's tokens; for guiders that smooth over them.
using SD3Grid = std::array<int64_t, 2>;

// Attention of text and image to both, or of an image alone (diffusers Attention with
// JointAttnProcessor2_0). Where guiders perturb it, the image's tokens see themselves and the text
// alone (PAGJointAttnProcessor2_0), or their queries are smoothed.
class SD3Attention final : public Module {
 public:
  enum class Over { image, both, both_for_image };
  // `over`: both_for_image leaves out what is made for the text.
  SD3Attention(Module* parent, const std::string& name, const SD3Transformer2DConfig& config,
               Over over);
  const char* class_name() const override { return "Attention"; }
  SiteKind site_kind() const override { return SiteKind::self_attention; }
  // x {B, L, D}; as x.
  Tensor forward(Context& cx, const Tensor& x, const SD3Grid& grid) const;
  // The text undefined where none is made for it.
  TokenStream forward(Context& cx, const TokenStream& x, const SD3Grid& grid) const;

  std::optional<RmsNorm> norm_q, norm_k;
  Linear to_q, to_k, to_v;
  std::optional<Linear> add_k_proj, add_v_proj, add_q_proj;
  ModuleList<Linear> to_out;
  std::optional<Linear> to_add_out;
  std::optional<RmsNorm> norm_added_q, norm_added_k;

 private:
  struct Parts {
    TokenStream query, key, value;
  };
  Tensor smoothed(Context& cx, const Tensor& query, const SD3Grid& grid) const;
  Parts parts(Context& cx, const TokenStream& x, const SD3Grid& grid) const;
  // Of all tokens to all, {B, L + T, D}, the image's first.
  Tensor attended(Context& cx, const Parts& of) const;
  // Of each of the image's tokens to itself and the text, and of the text's to all.
  Tensor attended_apart(Context& cx, const Parts& of) const;
  TokenStream computed(Context& cx, const TokenStream& x, const SD3Grid& grid) const;

  int64_t heads_;
};

// Attention and perceptron over text and image, which have weights of their own (Esser et al. 2024,
// arXiv 2403.03206; diffusers attention.py JointTransformerBlock). Of the last block no text is
// made; a dual one attends to the image a second time.
class SD3TransformerBlock final : public Module {
 public:
  SD3TransformerBlock(Module* parent, const std::string& name, const SD3Transformer2DConfig& config,
                      int64_t layer);
  const char* class_name() const override { return "JointTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // activated {B, D}: SiLU of the embedded timestep and prompt.
  TokenStream forward(Context& cx, const TokenStream& x, const Tensor& activated,
                      const SD3Grid& grid = {}) const;

  AdaLayerNormZero norm1;
  std::optional<AdaLayerNormZero> norm1_context;
  std::optional<AdaLayerNormContinuous> last_norm1_context;  // also "norm1_context"
  SD3Attention attn;
  std::optional<SD3Attention> attn2;
  LayerNorm norm2;
  GeluFeedForward ff;
  std::optional<LayerNorm> norm2_context;
  std::optional<GeluFeedForward> ff_context;

 private:
  Tensor image_after(Context& cx, const Tensor& image, const Tensor& normed, const Tensor& attended,
                     const std::vector<Modulation>& by, const SD3Grid& grid) const;
};

// Attention and perceptron over an image alone (diffusers transformer_sd3.py
// SD3SingleTransformerBlock).
class SD3SingleTransformerBlock final : public Module {
 public:
  SD3SingleTransformerBlock(Module* parent, const std::string& name,
                            const SD3Transformer2DConfig& config);
  const char* class_name() const override { return "SD3SingleTransformerBlock"; }
  // x {B, L, D}, activated {B, D}: SiLU of the embedded timestep and prompt; as x.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  AdaLayerNormZero norm1;
  SD3Attention attn;
  LayerNorm norm2;
  GeluFeedForward ff;
};

}  // namespace omnirt::nn
