#include "networks/flux2_transformer_2d_model/blocks.hpp"

#include "nn/layout.hpp"

namespace omnirt {
namespace {

nn::TimestepEmbeddingOptions embedding(const Flux2Transformer2DConfig& config) {
  return {.in = config.timestep_guidance_channels, .out = config.inner_dim(), .bias = false};
}

Tensor modulated(Context& cx, const nn::LayerNorm& norm, const Tensor& x,
                 const Flux2ModulationSet& by) {
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, by.scale, by.shift});
}

nn::JointAttentionOptions joint_attention(const Flux2Transformer2DConfig& config) {
  return {.heads = config.num_attention_heads,
          .head_dim = config.attention_head_dim,
          .eps = config.eps};
}

}  // namespace

Flux2TimestepGuidanceEmbeddings::Flux2TimestepGuidanceEmbeddings(
    Module* parent, const std::string& name, const Flux2Transformer2DConfig& config)
    : Module(parent, name), timestep_embedder(this, "timestep_embedder", embedding(config)) {
  if (config.guidance_embeds)
    guidance_embedder.emplace(this, "guidance_embedder", embedding(config));
}

Tensor Flux2TimestepGuidanceEmbeddings::forward(Context& cx, const Tensor& timestep,
                                                const Tensor* guidance) const {
  Tensor time = timestep_embedder.embed(cx, timestep);
  if (!guidance || !guidance_embedder) return time;
  Tensor thousandfold = cx.ops().affine(cx, {*guidance, 1000.0, 0.0});
  Tensor guided = guidance_embedder->embed(cx, thousandfold);
  return cx.ops().add(cx, {time, guided});
}

Flux2Modulation::Flux2Modulation(Module* parent, const std::string& name, int64_t dim, int64_t sets)
    : Module(parent, name), linear(this, "linear", dim, 3 * sets * dim, /*with_bias=*/false) {}

std::vector<Flux2ModulationSet> Flux2Modulation::sets_of(const Tensor& made) const {
  Tensor all = made.unsqueeze(1);
  int64_t dim = linear.in();
  std::vector<Flux2ModulationSet> sets;
  for (int64_t from = 0; from < all.size(2); from += 3 * dim) {
    auto part = [&](int64_t i) { return all.narrow(2, from + i * dim, dim); };
    sets.push_back({.shift = part(0), .scale = part(1), .gate = part(2)});
  }
  return sets;
}

Flux2FeedForward::Flux2FeedForward(Module* parent, const std::string& name,
                                   const Flux2Transformer2DConfig& config)
    : Module(parent, name),
      linear_in(this, "linear_in", config.inner_dim(), 2 * config.mlp_dim(), /*with_bias=*/false),
      linear_out(this, "linear_out", config.mlp_dim(), config.inner_dim(), /*with_bias=*/false) {}

Tensor Flux2FeedForward::forward(Context& cx, const Tensor& x) const {
  Tensor halves = linear_in.forward(cx, x);
  return linear_out.forward(cx, cx.ops().swiglu(cx, {halves}));
}

Flux2TransformerBlock::Flux2TransformerBlock(Module* parent, const std::string& name,
                                             const Flux2Transformer2DConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.inner_dim(), config.eps, /*affine=*/false),
      norm1_context(this, "norm1_context", config.inner_dim(), config.eps, /*affine=*/false),
      attn(this, "attn", joint_attention(config)),
      norm2(this, "norm2", config.inner_dim(), config.eps, /*affine=*/false),
      ff(this, "ff", config),
      norm2_context(this, "norm2_context", config.inner_dim(), config.eps, /*affine=*/false),
      ff_context(this, "ff_context", config) {}

nn::TokenStream Flux2TransformerBlock::forward(Context& cx, const nn::TokenStream& x,
                                               const std::vector<Flux2ModulationSet>& image,
                                               const std::vector<Flux2ModulationSet>& text,
                                               const Tensor& rotary,
                                               const nn::KeysAndValues& kept) const {
  nn::TokenStream normed{.text = modulated(cx, norm1_context, x.text, text[0]),
                         .image = modulated(cx, norm1, x.image, image[0])};
  nn::TokenStream y = attn.forward(cx, normed, rotary, nullptr, {}, kept);
  y.image = cx.ops().gate(cx, {y.image, image[0].gate, &x.image});
  y.text = cx.ops().gate(cx, {y.text, text[0].gate, &x.text});
  return {.text = perceived(cx, norm2_context, ff_context, y.text, text[1]),
          .image = perceived(cx, norm2, ff, y.image, image[1])};
}

Tensor Flux2TransformerBlock::perceived(Context& cx, const nn::LayerNorm& norm,
                                        const Flux2FeedForward& perceptron, const Tensor& h,
                                        const Flux2ModulationSet& by) const {
  if (cx.site(perceptron.path())) return h;
  Tensor made = perceptron.forward(cx, modulated(cx, norm, h, by));
  return cx.ops().gate(cx, {made, by.gate, &h});
}

Tensor Flux2TransformerBlock::read_references(Context& cx, const Tensor& x,
                                              const std::vector<Flux2ModulationSet>& by,
                                              const Tensor& rotary, nn::KeysAndValues& made,
                                              bool keys_alone) const {
  Tensor normed = modulated(cx, norm1, x, by[0]);
  Tensor y = attn.of_image_alone(cx, normed, rotary, made, keys_alone);
  return keys_alone ? Tensor()
                    : perceived(cx, norm2, ff, cx.ops().gate(cx, {y, by[0].gate, &x}), by[1]);
}

Flux2ParallelSelfAttention::Flux2ParallelSelfAttention(Module* parent, const std::string& name,
                                                       const Flux2Transformer2DConfig& config)
    : Module(parent, name),
      to_qkv_mlp_proj(this, "to_qkv_mlp_proj", config.inner_dim(),
                      3 * config.inner_dim() + 2 * config.mlp_dim(), /*with_bias=*/false),
      norm_q(this, "norm_q", config.attention_head_dim, config.eps),
      norm_k(this, "norm_k", config.attention_head_dim, config.eps),
      to_out(this, "to_out", config.inner_dim() + config.mlp_dim(), config.inner_dim(),
             /*with_bias=*/false),
      heads_(config.num_attention_heads),
      inner_dim_(config.inner_dim()),
      mlp_dim_(config.mlp_dim()) {}

Tensor Flux2ParallelSelfAttention::forward(Context& cx, const Tensor& x, const Tensor& rotary,
                                           const nn::KeysAndValues& before) const {
  auto made = cx.predicted_attention(path(), [&] {
    return std::vector<Tensor>{computed(cx, to_qkv_mlp_proj.forward(cx, x), rotary, before)};
  });
  return made.front();
}

// The value is a part of a tensor that is much larger: a copy is kept.
Tensor Flux2ParallelSelfAttention::of_references(Context& cx, const Tensor& x, const Tensor& rotary,
                                                 nn::KeysAndValues& made, bool keys_alone) const {
  Tensor all = to_qkv_mlp_proj.forward(cx, x), value = value_of(all);
  made = {key_of(cx, all, rotary), cx.ops().affine(cx, {value, 1.0, 0.0})};
  value.reset();
  return keys_alone ? Tensor() : computed(cx, std::move(all), rotary, {});
}

Tensor Flux2ParallelSelfAttention::key_of(Context& cx, const Tensor& all,
                                          const Tensor& rotary) const {
  return nn::turned_heads(cx, norm_k, all.narrow(2, inner_dim_, inner_dim_), heads_, rotary);
}

Tensor Flux2ParallelSelfAttention::attended(Context& cx, const Tensor& all, const Tensor& rotary,
                                            const nn::KeysAndValues& before) const {
  Tensor query = nn::turned_heads(cx, norm_q, all.narrow(2, 0, inner_dim_), heads_, rotary);
  nn::KeysAndValues to{key_of(cx, all, rotary), value_of(all)};
  if (before.key.defined()) to = nn::preceded_by(cx, to, before);
  return nn::attended_heads(cx, query, to.key, to.value, heads_).flatten(0, 1);
}

// What the last matrix takes, {B T, D + mlp}. The first one's result is the widest tensor of the
// whole network: it is dropped once it was read, before the two parts are joined.
Tensor Flux2ParallelSelfAttention::both(Context& cx, Tensor all, const Tensor& rotary,
                                        const nn::KeysAndValues& before) const {
  Tensor attention = attended(cx, all, rotary, before);
  Tensor halves = all.narrow(2, 3 * inner_dim_, 2 * mlp_dim_);
  Tensor perceptron = cx.ops().swiglu(cx, {halves}).flatten(0, 1);
  all.reset();
  halves.reset();
  return cx.ops().concat(cx, {attention, perceptron});
}

Tensor Flux2ParallelSelfAttention::computed(Context& cx, Tensor all, const Tensor& rotary,
                                            const nn::KeysAndValues& before) const {
  const int64_t rows = all.size(0), tokens = all.size(1);
  Tensor joined = both(cx, std::move(all), rotary, before);
  return to_out.forward(cx, joined.view({rows, tokens, inner_dim_ + mlp_dim_}));
}

Flux2SingleTransformerBlock::Flux2SingleTransformerBlock(Module* parent, const std::string& name,
                                                         const Flux2Transformer2DConfig& config)
    : Module(parent, name),
      norm(this, "norm", config.inner_dim(), config.eps, /*affine=*/false),
      attn(this, "attn", config) {}

Tensor Flux2SingleTransformerBlock::forward(Context& cx, const Tensor& x,
                                            const Flux2ModulationSet& modulation,
                                            const Tensor& rotary,
                                            const nn::KeysAndValues& kept) const {
  Tensor y = attn.forward(cx, modulated(cx, norm, x, modulation), rotary, kept);
  return cx.ops().gate(cx, {y, modulation.gate, &x});
}

Tensor Flux2SingleTransformerBlock::read_references(Context& cx, const Tensor& x,
                                                    const Flux2ModulationSet& by,
                                                    const Tensor& rotary, nn::KeysAndValues& made,
                                                    bool keys_alone) const {
  Tensor y = attn.of_references(cx, modulated(cx, norm, x, by), rotary, made, keys_alone);
  return keys_alone ? Tensor() : cx.ops().gate(cx, {y, by.gate, &x});
}

Flux2NormOut::Flux2NormOut(Module* parent, const std::string& name,
                           const Flux2Transformer2DConfig& config)
    : Module(parent, name),
      linear(this, "linear", config.inner_dim(), 2 * config.inner_dim(), /*with_bias=*/false),
      norm(this, "norm", config.inner_dim(), config.eps, /*affine=*/false) {}

Tensor Flux2NormOut::forward(Context& cx, const Tensor& x, const Tensor& activated) const {
  auto parts = linear.forward(cx, activated).unsqueeze(1).chunk(2, 2);
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, /*scale=*/parts[0], /*shift=*/parts[1]});
}

}  // namespace omnirt
