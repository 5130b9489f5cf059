#include "networks/flux_transformer_2d_model/blocks.hpp"

#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double flux_eps = FluxTransformer2DConfig::eps;

nn::TimestepEmbeddingOptions embedding_of(const FluxTransformer2DConfig& config) {
  return {.in = config.timestep_channels, .out = config.inner_dim()};
}

nn::JointAttentionOptions joint_options(const FluxTransformer2DConfig& config) {
  return {.heads = config.num_attention_heads,
          .head_dim = config.attention_head_dim,
          .eps = flux_eps,
          .bias = true};
}

int64_t mlp_dim(const FluxTransformer2DConfig& config) {
  return config.mlp_ratio * config.inner_dim();
}

Tensor modulated_by(Context& cx, const nn::LayerNorm& norm, const Tensor& x,
                    const FluxModulation& by) {
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, by.scale, by.shift});
}

// The perceptron's part of a stream: of its modulation, and added to it.
Tensor through_perceptron(Context& cx, const nn::LayerNorm& norm,
                          const nn::GeluFeedForward& perceptron, const Tensor& x,
                          const FluxModulation& by) {
  if (cx.site(perceptron.path())) return x;
  Tensor made = perceptron.forward(cx, modulated_by(cx, norm, x, by));
  return cx.ops().gate(cx, {made, by.gate, &x});
}

}  // namespace

FluxTimeTextEmbeddings::FluxTimeTextEmbeddings(Module* parent, const std::string& name,
                                               const FluxTransformer2DConfig& config)
    : Module(parent, name),
      timestep_embedder(this, "timestep_embedder", embedding_of(config)),
      text_embedder(this, "text_embedder",
                    {.in = config.pooled_projection_dim, .out = config.inner_dim()}) {
  if (config.guidance_embeds)
    guidance_embedder.emplace(this, "guidance_embedder", embedding_of(config));
}

Tensor FluxTimeTextEmbeddings::forward(Context& cx, const Tensor& timestep, const Tensor* guidance,
                                       const Tensor& pooled) const {
  auto embedded = [&](const nn::TimestepEmbedding& embedder, const Tensor& numbers) {
    Tensor waves =
        cx.ops().timestep_embedding(cx, {numbers, FluxTransformer2DConfig::timestep_channels,
                                         /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
    return embedder.forward(cx, nn::in_form(cx, waves), nullptr);
  };
  Tensor text = cx.once(text_embedder.path(), pooled, [&] {
    return text_embedder.forward(cx, nn::in_form(cx, pooled), nullptr);
  });
  Tensor time = embedded(timestep_embedder, timestep);
  if (guidance && guidance_embedder) {
    Tensor thousandfold = cx.ops().affine(cx, {*guidance, 1000.0, 0.0});
    Tensor guided = embedded(*guidance_embedder, thousandfold);
    time = cx.ops().add(cx, {time, guided});
  }
  return cx.ops().add(cx, {time, text});
}

FluxAdaLayerNorm::FluxAdaLayerNorm(Module* parent, const std::string& name, int64_t dim,
                                   int64_t parts)
    : Module(parent, name),
      linear(this, "linear", dim, 3 * parts * dim),
      norm(this, "norm", dim, flux_eps, /*affine=*/false) {}

std::vector<FluxModulation> FluxAdaLayerNorm::modulations(Context& cx,
                                                          const Tensor& activated) const {
  Tensor all = linear.forward(cx, activated).unsqueeze(1);
  int64_t dim = activated.size(1);
  std::vector<FluxModulation> made;
  for (int64_t from = 0; from < all.size(2); from += 3 * dim) {
    auto part = [&](int64_t i) { return all.narrow(2, from + i * dim, dim); };
    made.push_back({.shift = part(0), .scale = part(1), .gate = part(2)});
  }
  return made;
}

FluxTransformerBlock::FluxTransformerBlock(Module* parent, const std::string& name,
                                           const FluxTransformer2DConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.inner_dim(), 2),
      norm1_context(this, "norm1_context", config.inner_dim(), 2),
      attn(this, "attn", joint_options(config)),
      norm2(this, "norm2", config.inner_dim(), flux_eps, /*affine=*/false),
      ff(this, "ff", config.inner_dim(), mlp_dim(config)),
      norm2_context(this, "norm2_context", config.inner_dim(), flux_eps, /*affine=*/false),
      ff_context(this, "ff_context", config.inner_dim(), mlp_dim(config)) {}

nn::TextAndImage FluxTransformerBlock::forward(Context& cx, const nn::TextAndImage& x,
                                               const FluxContext& context) const {
  return cx.segment(path(), [&] {
    if (cx.site(path())) return x;
    auto image = norm1.modulations(cx, context.activated);
    auto text = norm1_context.modulations(cx, context.activated);
    nn::TextAndImage normed{.text = modulated_by(cx, norm1_context.norm, x.text, text[0]),
                            .image = modulated_by(cx, norm1.norm, x.image, image[0])};
    nn::TextAndImage y = attn.forward(cx, normed, context.rotary);
    y.image = cx.ops().gate(cx, {y.image, image[0].gate, &x.image});
    y.text = cx.ops().gate(cx, {y.text, text[0].gate, &x.text});
    return nn::TextAndImage{
        .text = through_perceptron(cx, norm2_context, ff_context, y.text, text[1]),
        .image = through_perceptron(cx, norm2, ff, y.image, image[1])};
  });
}

FluxSingleAttention::FluxSingleAttention(Module* parent, const std::string& name,
                                         const FluxTransformer2DConfig& config)
    : Module(parent, name),
      to_q(this, "to_q", config.inner_dim(), config.inner_dim()),
      to_k(this, "to_k", config.inner_dim(), config.inner_dim()),
      to_v(this, "to_v", config.inner_dim(), config.inner_dim()),
      norm_q(this, "norm_q", config.attention_head_dim, flux_eps),
      norm_k(this, "norm_k", config.attention_head_dim, flux_eps),
      heads_(config.num_attention_heads) {}

Tensor FluxSingleAttention::forward(Context& cx, const Tensor& x, const Tensor& rotary) const {
  Tensor query = nn::turned_heads(cx, norm_q, to_q.forward(cx, x), heads_, rotary);
  Tensor key = nn::turned_heads(cx, norm_k, to_k.forward(cx, x), heads_, rotary);
  return nn::attended_heads(cx, query, key, to_v.forward(cx, x), heads_);
}

FluxSingleTransformerBlock::FluxSingleTransformerBlock(Module* parent, const std::string& name,
                                                       const FluxTransformer2DConfig& config)
    : Module(parent, name),
      norm(this, "norm", config.inner_dim(), 1),
      proj_mlp(this, "proj_mlp", config.inner_dim(), mlp_dim(config)),
      proj_out(this, "proj_out", config.inner_dim() + mlp_dim(config), config.inner_dim()),
      attn(this, "attn", config) {}

Tensor FluxSingleTransformerBlock::forward(Context& cx, const Tensor& x,
                                           const FluxContext& context) const {
  return cx.segment(path(), [&] {
    if (cx.site(path())) return x;
    FluxModulation by = norm.modulations(cx, context.activated)[0];
    Tensor h = modulated_by(cx, norm.norm, x, by);
    Tensor perceptron = proj_mlp.forward(cx, h, ops::Activation::gelu_tanh).flatten(0, 1);
    Tensor attention = attn.forward(cx, h, context.rotary).flatten(0, 1);
    Tensor both = cx.ops().concat(cx, {attention, perceptron});
    Tensor y = proj_out.forward(cx, both.view({x.size(0), x.size(1), proj_out.in()}));
    return cx.ops().gate(cx, {y, by.gate, &x});
  });
}

FluxNormOut::FluxNormOut(Module* parent, const std::string& name,
                         const FluxTransformer2DConfig& config)
    : Module(parent, name),
      linear(this, "linear", config.inner_dim(), 2 * config.inner_dim()),
      norm(this, "norm", config.inner_dim(), flux_eps, /*affine=*/false) {}

Tensor FluxNormOut::forward(Context& cx, const Tensor& x, const Tensor& activated) const {
  auto parts = linear.forward(cx, activated).unsqueeze(1).chunk(2, 2);
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, /*scale=*/parts[0], /*shift=*/parts[1]});
}

}  // namespace omnirt
