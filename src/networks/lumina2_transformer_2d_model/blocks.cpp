#include "networks/lumina2_transformer_2d_model/blocks.hpp"

#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr int64_t waves_dim = 256;
constexpr double out_norm_eps = 1e-6;

nn::RotaryAttentionOptions attention_options(const Lumina2Transformer2DConfig& config) {
  return {.dim = config.hidden_size,
          .heads = config.num_attention_heads,
          .kv_heads = config.kv_heads()};
}

}  // namespace

Lumina2FeedForward::Lumina2FeedForward(Module* parent, const std::string& name,
                                       const Lumina2Transformer2DConfig& config, SiteKind site)
    : Module(parent, name),
      linear_1(this, "linear_1", config.hidden_size, config.feed_forward_dim(), false),
      linear_2(this, "linear_2", config.feed_forward_dim(), config.hidden_size, false),
      linear_3(this, "linear_3", config.hidden_size, config.feed_forward_dim(), false),
      site_(site) {}

Tensor Lumina2FeedForward::forward(Context& cx, const Tensor& x) const {
  Tensor gate = linear_1.forward(cx, x, ops::Activation::silu), wide = linear_3.forward(cx, x);
  return linear_2.forward(cx, cx.ops().gate(cx, {gate, wide}));
}

Lumina2NormZero::Lumina2NormZero(Module* parent, const std::string& name,
                                 const Lumina2Transformer2DConfig& config)
    : Module(parent, name),
      linear(this, "linear", config.modulation_dim(), 4 * config.hidden_size),
      norm(this, "norm", config.hidden_size, config.norm_eps) {}

Lumina2TransformerBlock::Lumina2TransformerBlock(Module* parent, const std::string& name,
                                                 const Lumina2Transformer2DConfig& config,
                                                 bool modulated)
    : Module(parent, name),
      attn(this, "attn", attention_options(config)),
      feed_forward(this, "feed_forward", config,
                   modulated ? SiteKind::feed_forward : SiteKind::none),
      ffn_norm1(this, "ffn_norm1", config.hidden_size, config.norm_eps),
      norm2(this, "norm2", config.hidden_size, config.norm_eps),
      ffn_norm2(this, "ffn_norm2", config.hidden_size, config.norm_eps) {
  if (modulated)
    modulated_norm.emplace(this, "norm1", config);
  else
    plain_norm.emplace(this, "norm1", config.hidden_size, config.norm_eps);
}

Tensor Lumina2TransformerBlock::plain(Context& cx, const Tensor& x, const Tensor& rotary) const {
  return nn::sandwiched(
      cx, x, {*plain_norm, norm2, ffn_norm1, ffn_norm2},
      [&](const Tensor& h) { return attn.forward(cx, h, rotary); },
      [&](const Tensor& h) { return feed_forward.forward(cx, h); });
}

Tensor Lumina2TransformerBlock::modulated(Context& cx, const Tensor& x, const Tensor& rotary,
                                          const Tensor& activated) const {
  auto by = nn::SandwichModulation::of(modulated_norm->linear.forward(cx, activated));
  Tensor h =
      nn::modulated_half(cx, x, modulated_norm->norm, norm2, by.scale_attention, by.gate_attention,
                         [&](const Tensor& y) { return attn.forward(cx, y, rotary); });
  if (cx.site(feed_forward.path())) return h;
  return nn::modulated_half(cx, h, ffn_norm1, ffn_norm2, by.scale_perceptron, by.gate_perceptron,
                            [&](const Tensor& y) { return feed_forward.forward(cx, y); });
}

Tensor Lumina2TransformerBlock::forward(Context& cx, const Tensor& x, const Tensor& rotary,
                                        const Tensor& activated) const {
  return plain_norm ? plain(cx, x, rotary) : modulated(cx, x, rotary, activated);
}

Lumina2CaptionEmbedder::Lumina2CaptionEmbedder(Module* parent, const std::string& name,
                                               const Lumina2Transformer2DConfig& config)
    : Module(parent, name),
      norm(this, "0", config.cap_feat_dim, config.norm_eps),
      linear(this, "1", config.cap_feat_dim, config.hidden_size) {}

Tensor Lumina2CaptionEmbedder::forward(Context& cx, const Tensor& text) const {
  return linear.forward(cx, norm.forward(cx, text));
}

Lumina2Embedding::Lumina2Embedding(Module* parent, const std::string& name,
                                   const Lumina2Transformer2DConfig& config)
    : Module(parent, name),
      timestep_embedder(this, "timestep_embedder",
                        {.in = waves_dim, .out = config.modulation_dim()}),
      caption_embedder(this, "caption_embedder", config) {}

Lumina2NormOut::Lumina2NormOut(Module* parent, const std::string& name,
                               const Lumina2Transformer2DConfig& config)
    : Module(parent, name),
      linear_1(this, "linear_1", config.modulation_dim(), config.hidden_size),
      norm(this, "norm", config.hidden_size, out_norm_eps, /*affine=*/false),
      linear_2(this, "linear_2", config.hidden_size,
               config.patch_size * config.patch_size * config.channels_out()) {}

Tensor Lumina2NormOut::forward(Context& cx, const Tensor& x, const Tensor& activated) const {
  Tensor scale = linear_1.forward(cx, activated).unsqueeze(1);
  return linear_2.forward(cx, nn::scaled_tokens(cx, norm.forward(cx, x), scale));
}

}  // namespace omnirt
