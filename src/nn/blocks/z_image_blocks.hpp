#pragma once
#include <utility>
#include <vector>

#include "nn/blocks/rotary_attention.hpp"
#include "nn/layers.hpp"
#include "nn/z_image_transformer_2d_config.hpp"

namespace omnirt::nn {

// The sinusoidal embedding of a time and its perceptron (diffusers transformer_z_image.py
// TimestepEmbedder).
class ZImageTimestepEmbedder final : public Module {
 public:
  ZImageTimestepEmbedder(Module* parent, const std::string& name, int64_t out);
  const char* class_name() const override { return "TimestepEmbedder"; }
  // time {B}: 0 at noise, t_scale at the image; {B, out}.
  Tensor forward(Context& cx, const Tensor& time) const;

  ModuleList<Linear> mlp;
};

// w2(silu(w1 x) * w3 x) (Shazeer 2020, arXiv 2002.05202; diffusers FeedForward).
class ZImageFeedForward final : public Module {
 public:
  ZImageFeedForward(Module* parent, const std::string& name,
                    const ZImageTransformer2DConfig& config, SiteKind site);
  const char* class_name() const override { return "FeedForward"; }
  SiteKind site_kind() const override { return site_; }
  Tensor forward(Context& cx, const Tensor& x) const;

  Linear w1, w2, w3;

 private:
  SiteKind site_;
};

// Tokens of a call that are modulated alike.
struct ZImagePart {
  Tensor tokens;    // {B, T, dim}
  Tensor embedded;  // {B, modulation_dim}: their timestep
};
// Of one part, or of all one after the other, {B, T, dim}.
Tensor joined(Context& cx, const std::vector<ZImagePart>& parts);

// Attention and perceptron, each between two norms (diffusers ZImageTransformerBlock). Where the
// block is modulated, the timestep scales what goes in and gates what comes out.
class ZImageTransformerBlock : public Module {
 public:
  ZImageTransformerBlock(Module* parent, const std::string& name,
                         const ZImageTransformer2DConfig& config, bool modulated);
  const char* class_name() const override { return "ZImageTransformerBlock"; }
  // Blocks without modulation see the text alone, once per run, so that no step changes them.
  SiteKind site_kind() const override { return modulated_ ? SiteKind::block : SiteKind::none; }
  // x {B, T, dim}, rotary {2, T, head_dim / 2}; embedded {B, modulation_dim} where modulated.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary, const Tensor& embedded) const;
  // The same of parts that are modulated each by its own, where all tokens attend to all; rotary of
  // all. For modulated blocks.
  void forward(Context& cx, std::vector<ZImagePart>& parts, const Tensor& rotary) const;

  RotaryAttention attention;
  ZImageFeedForward feed_forward;
  RmsNorm attention_norm1, ffn_norm1, attention_norm2, ffn_norm2;
  ModuleList<Linear> adaln_modulation;

 private:
  Tensor plain(Context& cx, const Tensor& x, const Tensor& rotary) const;
  SandwichNorms norms() const;
  Tensor attended(Context& cx, const Tensor& x, const Tensor& rotary) const;
  bool modulated_;
};

// A norm scaled by the timestep, and what the tokens predict (diffusers FinalLayer).
class ZImageFinalLayer final : public Module {
 public:
  ZImageFinalLayer(Module* parent, const std::string& name,
                   const ZImageTransformer2DConfig& config);
  const char* class_name() const override { return "FinalLayer"; }
  // x {B, T, dim}, embedded {B, modulation_dim}; {B, T, patch_channels}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& embedded) const;

  LayerNorm norm_final;
  Linear linear;
  ModuleList<Linear> adaln_modulation;
};

// What the checkpoint keeps by the size of its patches; there is one, of 2 x 2 latents and 1 frame.
template <class Layer>
class ZImageByPatch final : public Module {
 public:
  template <class... Args>
  ZImageByPatch(Module* parent, const std::string& name, Args&&... args)
      : Module(parent, name), layer(this, "2-1", std::forward<Args>(args)...) {}
  Layer layer;
};

// What an encoder makes of a text or an image, normalised and as wide as the blocks.
class ZImageCaptionEmbedder final : public Module {
 public:
  ZImageCaptionEmbedder(Module* parent, const std::string& name, int64_t width,
                        const ZImageTransformer2DConfig& config);
  // {B, T, width} -> {B, T, dim}.
  Tensor forward(Context& cx, const Tensor& text) const;

  RmsNorm norm;
  Linear linear;
};

}  // namespace omnirt::nn
