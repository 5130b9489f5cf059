#include "networks/aura_flow_transformer_2d_model/blocks.hpp"

#include <fmt/format.h>

#include <cmath>

#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

constexpr double norm_eps = 1e-5;

// x {B, T, D} before a block, `attended` what attention made of it: x with what the perceptron
// makes of both.
Tensor after_attention(Context& cx, const Tensor& x, const Tensor& attended,
                       const std::vector<nn::Modulation>& by, const nn::LayerNorm& norm,
                       const AuraFlowFeedForward& perceptron) {
  Tensor h = cx.ops().gate(cx, {attended, by[0].gate, &x});
  Tensor made = perceptron.forward(cx, nn::modulated_by(cx, norm, h, by[1]));
  return cx.ops().gate(cx, {made, by[1].gate, &x});
}

}  // namespace

AuraFlowPatchEmbed::AuraFlowPatchEmbed(Module* parent, const std::string& name,
                                       const AuraFlowTransformer2DConfig& config)
    : Module(parent, name),
      pos_embed(param("pos_embed", {1, config.pos_embed_max_size, config.inner_dim()})),
      proj(this, "proj", config.patch_size * config.patch_size * config.in_channels,
           config.inner_dim()),
      patch_size_(config.patch_size),
      side_(config.positions_side()) {
  own(pos_embed);
}

// Where the middle of an odd number of tokens lies is the reference's.
Tensor AuraFlowPatchEmbed::middle(Context& cx, int64_t height, int64_t width) const {
  Tensor table = cx[pos_embed];
  Tensor square = table.view({side_, side_, table.size(2)});
  return square.narrow(0, side_ / 2 - height / 2, height)
      .narrow(1, side_ / 2 - width / 2, width)
      .reshape({1, height * width, table.size(2)});
}

Tensor AuraFlowPatchEmbed::forward(Context& cx, const Tensor& latents,
                                   const Tensor& run_value) const {
  const int64_t height = latents.size(2) / patch_size_, width = latents.size(3) / patch_size_;
  Tensor tokens = nn::packed_patches(latents, patch_size_).flatten(2).transpose(1, 2).contiguous();
  Tensor places = cx.once(fmt::format("positions {}x{}", height, width), run_value,
                          [&] { return middle(cx, height, width); });
  return cx.ops().add(cx, {proj.forward(cx, tokens), places});
}

AuraFlowFeedForward::AuraFlowFeedForward(Module* parent, const std::string& name,
                                         const AuraFlowTransformer2DConfig& config)
    : Module(parent, name),
      linear_1(this, "linear_1", config.inner_dim(), config.feed_forward_dim(), false),
      linear_2(this, "linear_2", config.inner_dim(), config.feed_forward_dim(), false),
      out_projection(this, "out_projection", config.feed_forward_dim(), config.inner_dim(), false) {
}

Tensor AuraFlowFeedForward::forward(Context& cx, const Tensor& x) const {
  Tensor gate = linear_1.forward(cx, x, ops::Activation::silu), wide = linear_2.forward(cx, x);
  return out_projection.forward(cx, cx.ops().gate(cx, {gate, wide}));
}

AuraFlowAttention::AuraFlowAttention(Module* parent, const std::string& name,
                                     const AuraFlowTransformer2DConfig& config, bool both)
    : Module(parent, name),
      to_q(this, "to_q", config.inner_dim(), config.inner_dim(), false),
      to_k(this, "to_k", config.inner_dim(), config.inner_dim(), false),
      to_v(this, "to_v", config.inner_dim(), config.inner_dim(), false),
      to_out(this, "to_out"),
      head_norm_(this, "norm_q", config.attention_head_dim, norm_eps, /*affine=*/false),
      heads_(config.num_attention_heads),
      head_dim_(config.attention_head_dim) {
  const int64_t dim = config.inner_dim();
  to_out.add(dim, dim, false);
  if (!both) return;
  add_k_proj.emplace(this, "add_k_proj", dim, dim, false);
  add_v_proj.emplace(this, "add_v_proj", dim, dim, false);
  add_q_proj.emplace(this, "add_q_proj", dim, dim, false);
  to_add_out.emplace(this, "to_add_out", dim, dim, false);
}

Tensor AuraFlowAttention::normed(Context& cx, const Tensor& x) const {
  Tensor heads = x.view({x.size(0), x.size(1), heads_, head_dim_});
  return head_norm_.forward(cx, heads).view(x.sizes());
}

Tensor AuraFlowAttention::attended(Context& cx, const Tensor& query, const Tensor& key,
                                   const Tensor& value) const {
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim_));
  return cx.ops().attention(cx, {query, key, value, heads_, scale});
}

Tensor AuraFlowAttention::forward(Context& cx, const Tensor& x) const {
  Tensor query = normed(cx, to_q.forward(cx, x)), key = normed(cx, to_k.forward(cx, x));
  return to_out[0].forward(cx, attended(cx, query, key, to_v.forward(cx, x)));
}

nn::TokenStream AuraFlowAttention::forward(Context& cx, const nn::TokenStream& x) const {
  auto joined = [&](const nn::Linear& of_text, const nn::Linear& of_image, bool norm) {
    Tensor text = of_text.forward(cx, x.text), image = of_image.forward(cx, x.image);
    Tensor both = cx.ops().concat(cx, {text, image});
    return norm ? normed(cx, both) : both;
  };
  Tensor query = joined(*add_q_proj, to_q, true), key = joined(*add_k_proj, to_k, true);
  Tensor y = attended(cx, query, key, joined(*add_v_proj, to_v, false));
  const int64_t tokens = x.text.size(1);
  return {.text = to_add_out->forward(cx, y.narrow(1, 0, tokens)),
          .image = to_out[0].forward(cx, y.narrow(1, tokens, x.image.size(1)))};
}

AuraFlowJointTransformerBlock::AuraFlowJointTransformerBlock(
    Module* parent, const std::string& name, const AuraFlowTransformer2DConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.inner_dim(), 2, norm_eps, /*bias=*/false),
      norm1_context(this, "norm1_context", config.inner_dim(), 2, norm_eps, /*bias=*/false),
      attn(this, "attn", config, /*both=*/true),
      norm2(this, "norm2", config.inner_dim(), norm_eps, /*affine=*/false),
      ff(this, "ff", config),
      norm2_context(this, "norm2_context", config.inner_dim(), norm_eps, /*affine=*/false),
      ff_context(this, "ff_context", config) {}

nn::TokenStream AuraFlowJointTransformerBlock::forward(Context& cx, const nn::TokenStream& x,
                                                       const Tensor& activated) const {
  auto of_image = norm1.modulations(cx, activated);
  auto of_text = norm1_context.modulations(cx, activated);
  nn::TokenStream attended =
      attn.forward(cx, {.text = nn::modulated_by(cx, norm1_context.norm, x.text, of_text[0]),
                        .image = nn::modulated_by(cx, norm1.norm, x.image, of_image[0])});
  return {.text = after_attention(cx, x.text, attended.text, of_text, norm2_context, ff_context),
          .image = after_attention(cx, x.image, attended.image, of_image, norm2, ff)};
}

AuraFlowSingleTransformerBlock::AuraFlowSingleTransformerBlock(
    Module* parent, const std::string& name, const AuraFlowTransformer2DConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.inner_dim(), 2, norm_eps, /*bias=*/false),
      attn(this, "attn", config, /*both=*/false),
      norm2(this, "norm2", config.inner_dim(), norm_eps, /*affine=*/false),
      ff(this, "ff", config) {}

Tensor AuraFlowSingleTransformerBlock::forward(Context& cx, const Tensor& x,
                                               const Tensor& activated) const {
  auto by = norm1.modulations(cx, activated);
  Tensor attended = attn.forward(cx, nn::modulated_by(cx, norm1.norm, x, by[0]));
  return after_attention(cx, x, attended, by, norm2, ff);
}

AuraFlowPreFinalBlock::AuraFlowPreFinalBlock(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name), linear(this, "linear", dim, 2 * dim, false) {}

Tensor AuraFlowPreFinalBlock::forward(Context& cx, const Tensor& x, const Tensor& activated) const {
  Tensor all = linear.forward(cx, activated).unsqueeze(1);
  const int64_t dim = x.size(2);
  Tensor scale = all.narrow(2, 0, dim), shift = all.narrow(2, dim, dim);
  return cx.ops().modulate(cx, {x, scale, shift});
}

}  // namespace omnirt
