#pragma once
#include "nn/blocks/glu_mb_conv.hpp"
#include "nn/blocks/pixart_embeddings.hpp"
#include "nn/blocks/sana_attention.hpp"
#include "nn/sana_transformer_2d_config.hpp"

namespace omnirt::nn {

// By which input a transformer takes what a ControlNet adds.
inline constexpr const char* sana_residuals = "controlnet_block_samples";
inline constexpr double sana_caption_norm_eps = 1e-5;
// How latents become tokens.
PatchEmbedOptions sana_patches(const SanaTransformer2DConfig& config);

// What all blocks attend to and are modulated by.
struct SanaContext {
  Tensor text;                        // {B, S, D}: tokens alone, no padding
  Tensor modulation;                  // {B, 6, D}
  std::array<int64_t, 2> grid{0, 0};  // {height, width} in tokens
  Tensor embedded{};                  // {B, D}: the timestep, for the last norm
};

// Linear attention, attention to the text, a perceptron that sees neighbours; the first and the
// last modulated and gated by the timestep, the second neither normalised nor gated (diffusers
// sana_transformer.py SanaTransformerBlock).
class SanaTransformerBlock final : public Module {
 public:
  SanaTransformerBlock(Module* parent, const std::string& name,
                       const SanaTransformer2DConfig& config);
  const char* class_name() const override { return "SanaTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // x {B, T, D}; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const SanaContext& context) const;

  Param scale_shift_table;  // {6, D}: shift, scale and gate of the first and of the last part
  LayerNorm norm1;
  SanaLinearAttention attn1;
  LayerNorm norm2;
  SanaCrossAttention attn2;
  GluMbConv ff;

 private:
  Tensor fed_forward(Context& cx, const Tensor& x, const std::array<int64_t, 2>& grid) const;
};

// The last norm, whose shift and scale are the network's own table.
class SanaModulatedNorm final : public Module {
 public:
  SanaModulatedNorm(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "SanaModulatedNorm"; }

  LayerNorm norm;
};

}  // namespace omnirt::nn
