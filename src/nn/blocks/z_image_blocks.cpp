#include "nn/blocks/z_image_blocks.hpp"

#include <cmath>

#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

constexpr int64_t waves_dim = 256;
constexpr int64_t embedder_dim = 1024;
constexpr double head_norm_eps = 1e-5;
constexpr double final_norm_eps = 1e-6;

// y = x * (1 + scale) for tokens {B, T, D} and a scale {B, 1, D}.
Tensor scaled(Context& cx, const Tensor& x, const Tensor& scale) {
  return cx.ops().gate(cx, {x, cx.ops().affine(cx, {scale, 1.0, 1.0})});
}

}  // namespace

ZImageTimestepEmbedder::ZImageTimestepEmbedder(Module* parent, const std::string& name, int64_t out)
    : Module(parent, name), mlp(this, "mlp") {
  mlp.add_at(0, waves_dim, embedder_dim);
  mlp.add_at(2, embedder_dim, out);
}

Tensor ZImageTimestepEmbedder::forward(Context& cx, const Tensor& time) const {
  Tensor waves = cx.ops().timestep_embedding(
      cx, {time, waves_dim, /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
  return mlp[1].forward(cx, mlp[0].forward(cx, in_form(cx, waves), ops::Activation::silu));
}

ZImageFeedForward::ZImageFeedForward(Module* parent, const std::string& name,
                                     const ZImageTransformer2DConfig& config, SiteKind site)
    : Module(parent, name),
      w1(this, "w1", config.dim, config.feed_forward_dim(), false),
      w2(this, "w2", config.feed_forward_dim(), config.dim, false),
      w3(this, "w3", config.dim, config.feed_forward_dim(), false),
      site_(site) {}

Tensor ZImageFeedForward::forward(Context& cx, const Tensor& x) const {
  Tensor gate = w1.forward(cx, x, ops::Activation::silu), linear = w3.forward(cx, x);
  return w2.forward(cx, cx.ops().gate(cx, {gate, linear}));
}

ZImageAttention::ZImageAttention(Module* parent, const std::string& name,
                                 const ZImageTransformer2DConfig& config)
    : Module(parent, name),
      to_q(this, "to_q", config.dim, config.dim, false),
      to_k(this, "to_k", config.dim, config.dim, false),
      to_v(this, "to_v", config.dim, config.dim, false),
      to_out(this, "to_out"),
      heads_(config.n_heads) {
  to_out.add(config.dim, config.dim, false);
  if (!config.qk_norm) return;
  norm_q.emplace(this, "norm_q", config.head_dim(), head_norm_eps);
  norm_k.emplace(this, "norm_k", config.head_dim(), head_norm_eps);
}

Tensor ZImageAttention::placed(Context& cx, const Tensor& x, const std::optional<RmsNorm>& norm,
                               const Tensor& rotary) const {
  Tensor heads = x.view({x.size(0), x.size(1), heads_, x.size(2) / heads_});
  if (norm) heads = norm->forward(cx, heads);
  return cx.ops().rotary(cx, {heads, rotary, ops::RotaryPairs::neighbours}).flatten(2);
}

Tensor ZImageAttention::forward(Context& cx, const Tensor& x, const Tensor& rotary) const {
  Tensor query = placed(cx, to_q.forward(cx, x), norm_q, rotary);
  Tensor key = placed(cx, to_k.forward(cx, x), norm_k, rotary);
  Tensor value = to_v.forward(cx, x);
  double head_dim = static_cast<double>(x.size(2)) / static_cast<double>(heads_);
  Tensor y = cx.ops().attention(cx, {query, key, value, heads_, 1.0 / std::sqrt(head_dim)});
  return to_out[0].forward(cx, y);
}

ZImageTransformerBlock::ZImageTransformerBlock(Module* parent, const std::string& name,
                                               const ZImageTransformer2DConfig& config,
                                               bool modulated)
    : Module(parent, name),
      attention(this, "attention", config),
      feed_forward(this, "feed_forward", config,
                   modulated ? SiteKind::feed_forward : SiteKind::none),
      attention_norm1(this, "attention_norm1", config.dim, config.norm_eps),
      ffn_norm1(this, "ffn_norm1", config.dim, config.norm_eps),
      attention_norm2(this, "attention_norm2", config.dim, config.norm_eps),
      ffn_norm2(this, "ffn_norm2", config.dim, config.norm_eps),
      adaln_modulation(this, "adaLN_modulation"),
      modulated_(modulated) {
  if (modulated) adaln_modulation.add(config.modulation_dim(), 4 * config.dim);
}

Tensor ZImageTransformerBlock::plain(Context& cx, const Tensor& x, const Tensor& rotary) const {
  Tensor attended = attention.forward(cx, attention_norm1.forward(cx, x), rotary);
  Tensor h = cx.ops().add(cx, {x, attention_norm2.forward(cx, attended)});
  Tensor through = feed_forward.forward(cx, ffn_norm1.forward(cx, h));
  return cx.ops().add(cx, {h, ffn_norm2.forward(cx, through)});
}

Tensor ZImageTransformerBlock::modulated(Context& cx, const Tensor& x, const Tensor& rotary,
                                         const Tensor& embedded) const {
  Tensor all = adaln_modulation[0].forward(cx, embedded).unsqueeze(1);
  auto part = [&](int64_t i) { return all.narrow(2, i * x.size(2), x.size(2)); };
  // y + tanh(gate) * norm(h).
  auto gated = [&](const RmsNorm& norm, const Tensor& h, int64_t i, const Tensor& y) {
    Tensor gate = cx.ops().soft_clamp(cx, {part(i), /*bound=*/1.0});
    return cx.ops().gate(cx, {norm.forward(cx, h), gate, &y});
  };
  Tensor normed = scaled(cx, attention_norm1.forward(cx, x), part(0));
  Tensor h = gated(attention_norm2, attention.forward(cx, normed, rotary), 1, x);
  if (cx.site(feed_forward.path())) return h;
  normed = scaled(cx, ffn_norm1.forward(cx, h), part(2));
  return gated(ffn_norm2, feed_forward.forward(cx, normed), 3, h);
}

Tensor ZImageTransformerBlock::through(Context& cx, const Tensor& x, const Tensor& rotary,
                                       const Tensor& embedded) const {
  if (!modulated_) return plain(cx, x, rotary);
  return cx.site(path()) ? x : modulated(cx, x, rotary, embedded);
}

Tensor ZImageTransformerBlock::forward(Context& cx, const Tensor& x, const Tensor& rotary,
                                       const Tensor& embedded) const {
  return cx.segment(path(), [&] { return through(cx, x, rotary, embedded); });
}

ZImageFinalLayer::ZImageFinalLayer(Module* parent, const std::string& name,
                                   const ZImageTransformer2DConfig& config)
    : Module(parent, name),
      norm_final(this, "norm_final", config.dim, final_norm_eps, /*affine=*/false),
      linear(this, "linear", config.dim, config.patch_channels()),
      adaln_modulation(this, "adaLN_modulation") {
  adaln_modulation.add_at(1, config.modulation_dim(), config.dim);
}

Tensor ZImageFinalLayer::forward(Context& cx, const Tensor& x, const Tensor& embedded) const {
  Tensor activated = cx.ops().activate(cx, {embedded, ops::Activation::silu});
  Tensor scale = adaln_modulation[0].forward(cx, activated).unsqueeze(1);
  return linear.forward(cx, scaled(cx, norm_final.forward(cx, x), scale));
}

ZImageCaptionEmbedder::ZImageCaptionEmbedder(Module* parent, const std::string& name,
                                             const ZImageTransformer2DConfig& config)
    : Module(parent, name),
      norm(this, "0", config.cap_feat_dim, config.norm_eps),
      linear(this, "1", config.cap_feat_dim, config.dim) {}

Tensor ZImageCaptionEmbedder::forward(Context& cx, const Tensor& text) const {
  return linear.forward(cx, norm.forward(cx, text));
}

}  // namespace omnirt::nn
