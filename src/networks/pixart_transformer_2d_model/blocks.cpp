#include "networks/pixart_transformer_2d_model/blocks.hpp"

#include "base/ensure.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr int64_t wave_width = 256;

Tensor waves(Context& cx, const Tensor& numbers) {
  Tensor made = cx.ops().timestep_embedding(
      cx, {numbers, wave_width, /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
  return nn::in_form(cx, made);
}

nn::AttentionOptions attention(const PixArtTransformer2DConfig& config, int64_t context_dim) {
  return {.dim = config.inner_dim(),
          .context_dim = context_dim,
          .heads = config.num_attention_heads,
          .head_dim = config.attention_head_dim,
          .bias = config.attention_bias,
          .upcast = config.upcast_attention};
}

}  // namespace

PatchEmbed::PatchEmbed(Module* parent, const std::string& name,
                       const PixArtTransformer2DConfig& config)
    : Module(parent, name),
      proj(this, "proj", config.in_channels, config.inner_dim(),
           {.kernel = config.patch_size, .stride = config.patch_size, .padding = {0, 0, 0, 0}}),
      base_size_(config.sample_size / config.patch_size),
      interpolation_scale_(config.position_scale()) {}

Tensor PatchEmbed::forward(Context& cx, const Tensor& latents) const {
  Tensor patches = proj.forward(cx, latents);
  Tensor tokens = nn::tokens_of(patches);
  return cx.ops().add_positions(
      cx, {tokens, patches.size(2), patches.size(3), base_size_, interpolation_scale_});
}

CombinedTimestepSizeEmbeddings::CombinedTimestepSizeEmbeddings(Module* parent,
                                                               const std::string& name, int64_t dim,
                                                               bool takes_size)
    : Module(parent, name),
      timestep_embedder(this, "timestep_embedder", {.in = wave_width, .out = dim}) {
  if (!takes_size) return;
  nn::TimestepEmbeddingOptions third{.in = wave_width, .out = dim / 3};
  resolution_embedder.emplace(this, "resolution_embedder", third);
  aspect_ratio_embedder.emplace(this, "aspect_ratio_embedder", third);
}

// {B, D}: a third each for height, width and their ratio.
Tensor CombinedTimestepSizeEmbeddings::size_embedded(Context& cx,
                                                     const ImageConditions& conditions) const {
  ensure(conditions.resolution && conditions.aspect_ratio, "{} needs the image's size", path());
  int64_t rows = conditions.timestep.size(0);
  auto embedded = [&](const nn::TimestepEmbedding& embedder, const Tensor& numbers) {
    Tensor each = waves(cx, numbers.to(at::kFloat).reshape({-1}));
    return embedder.forward(cx, each, nullptr).view({rows, -1});
  };
  Tensor resolution = embedded(*resolution_embedder, *conditions.resolution);
  Tensor ratio = embedded(*aspect_ratio_embedder, *conditions.aspect_ratio);
  return cx.ops().concat(cx, {resolution, ratio});
}

Tensor CombinedTimestepSizeEmbeddings::forward(Context& cx,
                                               const ImageConditions& conditions) const {
  Tensor timestep = timestep_embedder.forward(cx, waves(cx, conditions.timestep), nullptr);
  if (!resolution_embedder) return timestep;
  Tensor size = size_embedded(cx, conditions);
  return cx.ops().add(cx, {timestep, size});
}

AdaLayerNormSingle::AdaLayerNormSingle(Module* parent, const std::string& name, int64_t dim,
                                       bool takes_size)
    : Module(parent, name),
      emb(this, "emb", dim, takes_size),
      linear(this, "linear", dim, 6 * dim) {}

AdaLayerNormSingle::Result AdaLayerNormSingle::forward(Context& cx,
                                                       const ImageConditions& conditions) const {
  Tensor embedded = emb.forward(cx, conditions);
  Tensor activated = cx.ops().activate(cx, {embedded, ops::Activation::silu});
  Tensor modulation = linear.forward(cx, activated);
  return {modulation.view({embedded.size(0), 6, embedded.size(1)}), embedded.unsqueeze(1)};
}

PixArtAlphaTextProjection::PixArtAlphaTextProjection(Module* parent, const std::string& name,
                                                     int64_t in, int64_t out)
    : Module(parent, name),
      linear_1(this, "linear_1", in, out),
      linear_2(this, "linear_2", out, out) {}

Tensor PixArtAlphaTextProjection::forward(Context& cx, const Tensor& caption) const {
  return linear_2.forward(cx, linear_1.forward(cx, caption, ops::Activation::gelu_tanh));
}

PixArtFeedForwardNet::Projection::Projection(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name), proj(this, "proj", dim, 4 * dim) {}

PixArtFeedForwardNet::PixArtFeedForwardNet(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name), in(this, "0", dim), out(this, "2", 4 * dim, dim) {}

PixArtFeedForward::PixArtFeedForward(Module* parent, const std::string& name, int64_t dim,
                                     ops::Activation activation)
    : Module(parent, name), net(this, "net", dim), activation_(activation) {}

Tensor PixArtFeedForward::forward(Context& cx, const Tensor& x) const {
  return net.out.forward(cx, net.in.proj.forward(cx, x, activation_));
}

PixArtTransformerBlock::PixArtTransformerBlock(Module* parent, const std::string& name,
                                               const PixArtTransformer2DConfig& config)
    : Module(parent, name),
      scale_shift_table(param("scale_shift_table", {6, config.inner_dim()})),
      norm1(this, "norm1", config.inner_dim(), config.norm_eps, config.norm_elementwise_affine),
      attn1(this, "attn1", attention(config, 0)),
      attn2(this, "attn2", attention(config, config.cross_attention_dim)),
      norm2(this, "norm2", config.inner_dim(), config.norm_eps, config.norm_elementwise_affine),
      ff(this, "ff", config.inner_dim(), config.activation()) {
  own(scale_shift_table);
}

Tensor PixArtTransformerBlock::forward(Context& cx, const Tensor& x,
                                       const PixArtContext& context) const {
  return cx.segment(path(), [&] {
    if (cx.site(path())) return x;
    Tensor modulation = cx.ops().add(cx, {context.modulation, cx[scale_shift_table].unsqueeze(0)});
    // {B, 1, D} each.
    auto part = [&](int64_t i) { return modulation.narrow(1, i, 1); };
    Tensor shift_attention = part(0), scale_attention = part(1), gate_attention = part(2);
    Tensor shift_ff = part(3), scale_ff = part(4), gate_ff = part(5);
    Tensor h = norm1.forward(cx, x);
    h = cx.ops().modulate(cx, {h, scale_attention, shift_attention});
    h = attn1.forward(cx, h, nullptr, nullptr, nullptr, context.grid);
    h = cx.ops().gate(cx, {h, gate_attention, &x});
    const Tensor* bias = context.text_bias.defined() ? &context.text_bias : nullptr;
    h = attn2.forward(cx, h, &context.text, bias, &h);
    if (cx.site(ff.path())) return h;
    Tensor normed = norm2.forward(cx, h);
    normed = cx.ops().modulate(cx, {normed, scale_ff, shift_ff});
    normed = ff.forward(cx, normed);
    return cx.ops().gate(cx, {normed, gate_ff, &h});
  });
}

}  // namespace omnirt
