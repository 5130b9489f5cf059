#include "networks/flux3_transformer_2d_model/blocks.hpp"

#include "nn/blocks/joint_attention.hpp"

namespace omnirt {
namespace {

Tensor flux3_modulated(Context& cx, const nn::LayerNorm& norm, const Tensor& x,
                       const Flux3ModulationSet& by) {
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, by.scale, by.shift});
}

}  // namespace

Flux3Modulation::Flux3Modulation(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name), linear(this, "linear", dim, 3 * dim, /*with_bias=*/false) {}

Flux3ModulationSet Flux3Modulation::forward(Context& cx, const Tensor& activated) const {
  Tensor all = linear.forward(cx, activated).unsqueeze(1);
  int64_t dim = activated.size(1);
  auto part = [&](int64_t i) { return all.narrow(2, i * dim, dim); };
  return {.shift = part(0), .scale = part(1), .gate = part(2)};
}

Flux3Modulations::Flux3Modulations(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name),
      image(this, "image", dim),
      image_cond(this, "image_cond", dim),
      txt(this, "txt", dim) {}

Flux3Embedders::Flux3Embedders(Module* parent, const std::string& name,
                               const Flux3Transformer2DConfig& config)
    : Module(parent, name),
      image(this, "image", config.in_channels, config.inner_dim(), /*with_bias=*/false),
      image_cond(this, "image_cond", config.cond_in_channels, config.inner_dim(),
                 /*with_bias=*/false) {}

Flux3FeedForward::Flux3FeedForward(Module* parent, const std::string& name,
                                   const Flux3Transformer2DConfig& config)
    : Module(parent, name),
      linear_in(this, "linear_in", config.inner_dim(), 2 * config.mlp_dim(), /*with_bias=*/false),
      linear_out(this, "linear_out", config.mlp_dim(), config.inner_dim(), /*with_bias=*/false) {}

Tensor Flux3FeedForward::forward(Context& cx, const Tensor& x, const Tensor& residual) const {
  Tensor halves = linear_in.forward(cx, x);
  Tensor gated = cx.ops().swiglu(cx, {halves});
  halves.reset();
  return linear_out.forward(cx, gated, ops::Activation::none, &residual);
}

Flux3Attention::Flux3Attention(Module* parent, const std::string& name,
                               const Flux3Transformer2DConfig& config)
    : Module(parent, name),
      to_q(this, "to_q", config.inner_dim(), config.inner_dim(), /*with_bias=*/false),
      to_k(this, "to_k", config.inner_dim(), config.inner_dim(), /*with_bias=*/false),
      to_v(this, "to_v", config.inner_dim(), config.inner_dim(), /*with_bias=*/false),
      norm_q(this, "norm_q", config.attention_head_dim, config.eps),
      norm_k(this, "norm_k", config.attention_head_dim, config.eps),
      to_out(this, "to_out"),
      heads_(config.num_attention_heads) {
  to_out.add(config.inner_dim(), config.inner_dim(), /*with_bias=*/false);
}

Tensor Flux3Attention::forward(Context& cx, const Tensor& x, const Tensor& rotary) const {
  Tensor query = nn::turned_heads(cx, norm_q, to_q.forward(cx, x), heads_, rotary);
  Tensor key = nn::turned_heads(cx, norm_k, to_k.forward(cx, x), heads_, rotary);
  Tensor y = nn::attended_heads(cx, query, key, to_v.forward(cx, x), heads_);
  query.reset();
  key.reset();
  return to_out[0].forward(cx, y);
}

Flux3ModeTransformerBlock::Flux3ModeTransformerBlock(Module* parent, const std::string& name,
                                                     const Flux3Transformer2DConfig& config,
                                                     Flux3Stream stream)
    : Module(parent, name),
      norm(this, "norm", config.inner_dim(), config.eps, /*affine=*/false),
      attn(this, "attn", config),
      ff(this, "ff", config),
      stream_(stream) {}

Tensor Flux3ModeTransformerBlock::forward(Context& cx, const Tensor& x,
                                          const Flux3ModulationSet& by,
                                          const Tensor& rotary) const {
  Tensor normed = flux3_modulated(cx, norm, x, by);
  Tensor y = ff.forward(cx, normed, attn.forward(cx, normed, rotary));
  return cx.ops().gate(cx, {y, by.gate, &x});
}

Flux3ModeBlocks::Flux3ModeBlocks(Module* parent, const std::string& name)
    : Module(parent, name), image(this, "image"), image_cond(this, "image_cond") {}

Flux3SingleTransformerBlock::Flux3SingleTransformerBlock(Module* parent, const std::string& name,
                                                         const Flux3Transformer2DConfig& config)
    : Module(parent, name),
      norm(this, "norm", config.inner_dim(), config.eps, /*affine=*/false),
      attn(this, "attn", config),
      ff(this, "ff", config) {}

void Flux3SingleTransformerBlock::forward(Context& cx, std::vector<Flux3Part>& parts,
                                          const Tensor& rotary) const {
  Tensor all;
  for (const Flux3Part& part : parts) {
    Tensor normed = flux3_modulated(cx, norm, part.tokens, part.by);
    all = all.defined() ? cx.ops().concat(cx, {all, normed}) : normed;
  }
  Tensor y = ff.forward(cx, all, attn.forward(cx, all, rotary));
  int64_t from = 0;
  for (Flux3Part& part : parts) {
    const int64_t tokens = part.tokens.size(1);
    Tensor mine = y.narrow(1, from, tokens);
    part.tokens = cx.ops().gate(cx, {mine, part.by.gate, &part.tokens});
    from += tokens;
  }
}

Flux3AdaLayerNorm::Flux3AdaLayerNorm(Module* parent, const std::string& name,
                                     const Flux3Transformer2DConfig& config)
    : Module(parent, name),
      linear(this, "linear", config.inner_dim(), 2 * config.inner_dim(), /*with_bias=*/false),
      norm(this, "norm", config.inner_dim(), config.eps, /*affine=*/false) {}

Tensor Flux3AdaLayerNorm::forward(Context& cx, const Tensor& x, const Tensor& activated) const {
  auto parts = linear.forward(cx, activated).unsqueeze(1).chunk(2, 2);
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, /*scale=*/parts[0], /*shift=*/parts[1]});
}

}  // namespace omnirt
