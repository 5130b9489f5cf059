#include "nn/blocks/sana_blocks.hpp"

#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

constexpr double sana_norm_out_eps = 1e-6;

SanaAttention::Options sana_self_attention(const SanaTransformer2DConfig& config) {
  return {.dim = config.inner_dim(),
          .context_dim = config.inner_dim(),
          .heads = config.num_attention_heads,
          .head_dim = config.attention_head_dim,
          .bias = config.attention_bias,
          .norm = config.qk_norm.has_value()};
}

SanaAttention::Options sana_cross_attention(const SanaTransformer2DConfig& config) {
  return {.dim = config.inner_dim(),
          .context_dim = config.cross_attention_dim,
          .heads = config.num_cross_attention_heads,
          .head_dim = config.cross_attention_head_dim,
          .bias = true,
          .norm = config.qk_norm.has_value()};
}

}  // namespace

PatchEmbedOptions sana_patches(const SanaTransformer2DConfig& config) {
  return {.in_channels = config.in_channels,
          .dim = config.inner_dim(),
          .patch_size = config.patch_size,
          .base_size = config.sample_size / config.patch_size,
          .position_scale = config.interpolation_scale};
}

SanaTransformerBlock::SanaTransformerBlock(Module* parent, const std::string& name,
                                           const SanaTransformer2DConfig& config)
    : Module(parent, name),
      scale_shift_table(param("scale_shift_table", {6, config.inner_dim()})),
      norm1(this, "norm1", config.inner_dim(), config.norm_eps, /*affine=*/false),
      attn1(this, "attn1", sana_self_attention(config)),
      norm2(this, "norm2", config.inner_dim(), config.norm_eps, config.norm_elementwise_affine),
      attn2(this, "attn2", sana_cross_attention(config)),
      ff(this, "ff", {.channels = config.inner_dim(), .hidden = config.hidden_dim()}) {
  own(scale_shift_table);
}

Tensor SanaTransformerBlock::fed_forward(Context& cx, const Tensor& x,
                                         const std::array<int64_t, 2>& grid) const {
  return tokens_of(ff.forward(cx, image_of(x, grid[0], grid[1])));
}

Tensor SanaTransformerBlock::forward(Context& cx, const Tensor& x,
                                     const SanaContext& context) const {
  const auto [by, by_ff] = modulations_by_table(cx, context.modulation, cx[scale_shift_table]);
  Tensor h = attn1.forward(cx, modulated_by(cx, norm1, x, by), context.grid);
  h = cx.ops().gate(cx, {h, by.gate, &x});
  h = attn2.forward(cx, h, context.text, h);
  if (cx.site(ff.path())) return h;
  Tensor made = fed_forward(cx, modulated_by(cx, norm2, h, by_ff), context.grid);
  return cx.ops().gate(cx, {made, by_ff.gate, &h});
}

SanaModulatedNorm::SanaModulatedNorm(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name), norm(this, "norm", dim, sana_norm_out_eps, /*affine=*/false) {}

}  // namespace omnirt::nn
