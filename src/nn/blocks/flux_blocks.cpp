#include "nn/blocks/flux_blocks.hpp"

#include <fmt/format.h>

namespace omnirt::nn {
namespace {

constexpr double flux_eps = FluxTransformer2DConfig::eps;

JointAttentionOptions joint_options(const FluxTransformer2DConfig& config) {
  return {.heads = config.num_attention_heads,
          .head_dim = config.attention_head_dim,
          .eps = flux_eps,
          .bias = true};
}

int64_t mlp_dim(const FluxTransformer2DConfig& config) {
  return config.mlp_ratio * config.inner_dim();
}

}  // namespace

Tensor flux_rotary(Context& cx, const std::vector<int64_t>& axes, const FluxPlaces& places) {
  return cx.once(fmt::format("rotary {}x{}", places.height, places.width), places.text, [&] {
    Tensor positions =
        cx.ops().token_positions(cx, {places.text, places.texts, places.height, places.width});
    if (places.reference_ids) {
      Tensor ids = places.reference_ids->narrow(0, 0, 1);
      positions = cx.ops().concat(cx, {positions.unsqueeze(0), ids}).squeeze(0);
    }
    return rope_table(cx, positions.narrow(1, 0, 3), axes, FluxTransformer2DConfig::rope_theta);
  });
}

FluxStreams::FluxStreams(Module* parent, const std::string& name,
                         const FluxTransformer2DConfig& config)
    : Module(parent, name),
      attn(this, "attn", joint_options(config)),
      norm2(this, "norm2", config.inner_dim(), flux_eps, /*affine=*/false),
      ff(this, "ff", config.inner_dim(), mlp_dim(config)),
      norm2_context(this, "norm2_context", config.inner_dim(), flux_eps, /*affine=*/false),
      ff_context(this, "ff_context", config.inner_dim(), mlp_dim(config)) {}

TokenStream FluxStreams::modulated(Context& cx, const TokenStream& x, const FluxModulations& by,
                                   const Tensor& rotary, const Tensor* bias,
                                   const PromptingImages& images) const {
  TokenStream normed{.text = modulated_by(cx, by.text_norm, x.text, by.text[0]),
                     .image = modulated_by(cx, by.image_norm, x.image, by.image[0])};
  JointlyAttended y = attn.forward(cx, normed, rotary, bias, images);
  y.image = cx.ops().gate(cx, {y.image, by.image[0].gate, &x.image});
  y.text = cx.ops().gate(cx, {y.text, by.text[0].gate, &x.text});
  TokenStream made{.text = through_perceptron(cx, norm2_context, ff_context, y.text, by.text[1]),
                   .image = through_perceptron(cx, norm2, ff, y.image, by.image[1])};
  if (y.prompted.defined()) made.image = cx.ops().add(cx, {made.image, y.prompted});
  return made;
}

FluxTransformerBlock::FluxTransformerBlock(Module* parent, const std::string& name,
                                           const FluxTransformer2DConfig& config)
    : FluxStreams(parent, name, config),
      norm1(this, "norm1", config.inner_dim(), 2, flux_eps),
      norm1_context(this, "norm1_context", config.inner_dim(), 2, flux_eps) {}

TokenStream FluxTransformerBlock::forward(Context& cx, const TokenStream& x,
                                          const FluxContext& context,
                                          const PromptingImages& images) const {
  auto image = norm1.modulations(cx, context.activated);
  auto text = norm1_context.modulations(cx, context.activated);
  return modulated(cx, x, {norm1_context.norm, norm1.norm, text, image}, context.rotary, nullptr,
                   images);
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

Tensor FluxSingleAttention::forward(Context& cx, const Tensor& x, const Tensor& rotary,
                                    const Tensor* bias) const {
  auto made = cx.predicted_attention(path(), [&] {
    Tensor query = turned_heads(cx, norm_q, to_q.forward(cx, x), heads_, rotary);
    Tensor key = turned_heads(cx, norm_k, to_k.forward(cx, x), heads_, rotary);
    return std::vector<Tensor>{attended_heads(cx, query, key, to_v.forward(cx, x), heads_, bias)};
  });
  return made.front();
}

FluxParallel::FluxParallel(Module* parent, const std::string& name,
                           const FluxTransformer2DConfig& config)
    : Module(parent, name),
      proj_mlp(this, "proj_mlp", config.inner_dim(), mlp_dim(config)),
      proj_out(this, "proj_out", config.inner_dim() + mlp_dim(config), config.inner_dim()),
      attn(this, "attn", config) {}

Tensor FluxParallel::modulated(Context& cx, const Tensor& x, const LayerNorm& norm,
                               const Modulation& by, const Tensor& rotary,
                               const Tensor* bias) const {
  Tensor h = modulated_by(cx, norm, x, by);
  Tensor perceptron = proj_mlp.forward(cx, h, ops::Activation::gelu_tanh).flatten(0, 1);
  Tensor attention = attn.forward(cx, h, rotary, bias).flatten(0, 1);
  Tensor both = cx.ops().concat(cx, {attention, perceptron});
  Tensor y = proj_out.forward(cx, both.view({x.size(0), x.size(1), proj_out.in()}));
  return cx.ops().gate(cx, {y, by.gate, &x});
}

FluxSingleTransformerBlock::FluxSingleTransformerBlock(Module* parent, const std::string& name,
                                                       const FluxTransformer2DConfig& config)
    : FluxParallel(parent, name, config), norm(this, "norm", config.inner_dim(), 1, flux_eps) {}

Tensor FluxSingleTransformerBlock::forward(Context& cx, const Tensor& x,
                                           const FluxContext& context) const {
  const Modulation by = norm.modulations(cx, context.activated)[0];
  return modulated(cx, x, norm.norm, by, context.rotary, nullptr);
}

}  // namespace omnirt::nn
