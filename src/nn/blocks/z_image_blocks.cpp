#include "nn/blocks/z_image_blocks.hpp"

#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

constexpr int64_t waves_dim = 256;
constexpr int64_t embedder_dim = 1024;
constexpr double final_norm_eps = 1e-6;

RotaryAttentionOptions attention_options(const ZImageTransformer2DConfig& config) {
  return {.dim = config.dim, .heads = config.n_heads, .qk_norm = config.qk_norm};
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

Tensor joined(Context& cx, const std::vector<ZImagePart>& parts) {
  Tensor all;
  for (const ZImagePart& part : parts)
    all = all.defined() ? cx.ops().concat(cx, {all, part.tokens}) : part.tokens;
  return all;
}

ZImageTransformerBlock::ZImageTransformerBlock(Module* parent, const std::string& name,
                                               const ZImageTransformer2DConfig& config,
                                               bool modulated)
    : Module(parent, name),
      attention(this, "attention", attention_options(config)),
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

SandwichNorms ZImageTransformerBlock::norms() const {
  return {attention_norm1, attention_norm2, ffn_norm1, ffn_norm2};
}

Tensor ZImageTransformerBlock::plain(Context& cx, const Tensor& x, const Tensor& rotary) const {
  return sandwiched(
      cx, x, norms(), [&](const Tensor& h) { return attention.forward(cx, h, rotary); },
      [&](const Tensor& h) { return feed_forward.forward(cx, h); });
}

Tensor ZImageTransformerBlock::attended(Context& cx, const Tensor& x, const Tensor& rotary) const {
  auto made = cx.predicted_attention(
      attention.path(), [&] { return std::vector<Tensor>{attention.forward(cx, x, rotary)}; });
  return made.front();
}

void ZImageTransformerBlock::forward(Context& cx, std::vector<ZImagePart>& parts,
                                     const Tensor& rotary) const {
  std::vector<SandwichModulation> all;
  std::vector<ZImagePart> scaled;
  for (const ZImagePart& part : parts) {
    const auto& by =
        all.emplace_back(SandwichModulation::of(adaln_modulation[0].forward(cx, part.embedded)));
    Tensor normed = attention_norm1.forward(cx, part.tokens);
    scaled.push_back({scaled_tokens(cx, normed, by.scale_attention), {}});
  }
  Tensor through = joined(cx, scaled);
  scaled.clear();
  through = attended(cx, through, rotary);
  const bool perceives = !cx.site(feed_forward.path());
  int64_t from = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    Tensor& x = parts[i].tokens;
    Tensor own = through.narrow(1, from, x.size(1));
    from += x.size(1);
    x = gated_tokens(cx, x, own, attention_norm2, all[i].gate_attention);
    if (!perceives) continue;
    x = modulated_half(cx, x, ffn_norm1, ffn_norm2, all[i].scale_perceptron, all[i].gate_perceptron,
                       [&](const Tensor& y) { return feed_forward.forward(cx, y); });
  }
}

Tensor ZImageTransformerBlock::forward(Context& cx, const Tensor& x, const Tensor& rotary,
                                       const Tensor& embedded) const {
  if (!modulated_) return plain(cx, x, rotary);
  std::vector<ZImagePart> all{{x, embedded}};
  forward(cx, all, rotary);
  return all.front().tokens;
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
  return linear.forward(cx, scaled_tokens(cx, norm_final.forward(cx, x), scale));
}

ZImageCaptionEmbedder::ZImageCaptionEmbedder(Module* parent, const std::string& name, int64_t width,
                                             const ZImageTransformer2DConfig& config)
    : Module(parent, name),
      norm(this, "0", width, config.norm_eps),
      linear(this, "1", width, config.dim) {}

Tensor ZImageCaptionEmbedder::forward(Context& cx, const Tensor& text) const {
  return linear.forward(cx, norm.forward(cx, text));
}

}  // namespace omnirt::nn
