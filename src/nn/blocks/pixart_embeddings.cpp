#include "nn/blocks/pixart_embeddings.hpp"

#include "base/ensure.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {
Tensor waves(Context& cx, const Tensor& numbers) {
  Tensor made = cx.ops().timestep_embedding(
      cx, {numbers, wave_width, /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
  return in_form(cx, made);
}

PatchEmbed::PatchEmbed(Module* parent, const std::string& name, const PatchEmbedOptions& options)
    : Module(parent, name),
      proj(this, "proj", options.in_channels, options.dim,
           {.kernel = options.patch_size, .stride = options.patch_size, .padding = {0, 0, 0, 0}}),
      options_(options) {}

Tensor PatchEmbed::forward(Context& cx, const Tensor& latents) const {
  Tensor patches = proj.forward(cx, latents);
  Tensor tokens = tokens_of(patches);
  if (!options_.position_scale) return tokens;
  return cx.ops().add_positions(
      cx, {tokens, patches.size(2), patches.size(3), options_.base_size, *options_.position_scale});
}

CombinedTimestepSizeEmbeddings::CombinedTimestepSizeEmbeddings(Module* parent,
                                                               const std::string& name, int64_t dim,
                                                               bool takes_size)
    : Module(parent, name),
      timestep_embedder(this, "timestep_embedder", {.in = wave_width, .out = dim}) {
  if (!takes_size) return;
  TimestepEmbeddingOptions third{.in = wave_width, .out = dim / 3};
  resolution_embedder.emplace(this, "resolution_embedder", third);
  aspect_ratio_embedder.emplace(this, "aspect_ratio_embedder", third);
}

// {B, D}: a third each for height, width and their ratio.
Tensor CombinedTimestepSizeEmbeddings::size_embedded(Context& cx,
                                                     const ImageConditions& conditions) const {
  ensure(conditions.resolution && conditions.aspect_ratio, "{} needs the image's size", path());
  int64_t rows = conditions.timestep.size(0);
  auto embedded = [&](const TimestepEmbedding& embedder, const Tensor& numbers) {
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

std::array<Modulation, 2> modulations_by_table(Context& cx, const Tensor& modulation,
                                               const Tensor& table) {
  const Tensor all = cx.ops().add(cx, {modulation, table.unsqueeze(0)});
  auto row = [&](int64_t i) { return all.narrow(1, i, 1); };
  auto part = [&](int64_t from) {
    return Modulation{.shift = row(from), .scale = row(from + 1), .gate = row(from + 2)};
  };
  return {part(0), part(3)};
}

Tensor normed_by_table(Context& cx, const LayerNorm& norm, const Tensor& x, const Tensor& table,
                       const Tensor& embedded) {
  Tensor both = embedded.expand({embedded.size(0), 2, embedded.size(2)});
  both = cx.ops().add(cx, {both, table.unsqueeze(0)});
  Tensor shift = both.narrow(1, 0, 1), scale = both.narrow(1, 1, 1);
  Tensor normed = norm.forward(cx, x);
  return cx.ops().modulate(cx, {normed, scale, shift});
}

}  // namespace omnirt::nn
