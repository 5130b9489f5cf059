#include "networks/chroma_transformer_2d_model/blocks.hpp"

#include <limits>

#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double block_eps = FluxTransformer2DConfig::eps;
// torch.nn.RMSNorm's where none is given.
constexpr double norms_eps = std::numeric_limits<float>::epsilon();

// Shift, scale and gate that lie behind one another, {B, 1, D} each.
nn::Modulation modulation_at(const Tensor& all, int64_t at) {
  return {.shift = all.narrow(1, at, 1),
          .scale = all.narrow(1, at + 1, 1),
          .gate = all.narrow(1, at + 2, 1)};
}

// Of attention and of the perceptron.
std::vector<nn::Modulation> both_at(const Tensor& all, int64_t at) {
  return {modulation_at(all, at), modulation_at(all, at + ChromaTransformer2DConfig::of_single)};
}

}  // namespace

ChromaProjection::ChromaProjection(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name),
      linear_1(this, "linear_1", dim, dim),
      linear_2(this, "linear_2", dim, dim) {}

Tensor ChromaProjection::forward(Context& cx, const Tensor& normed, const Tensor& x) const {
  Tensor inner = linear_1.forward(cx, normed, ops::Activation::silu);
  return linear_2.forward(cx, inner, ops::Activation::none, &x);
}

ChromaApproximator::ChromaApproximator(Module* parent, const std::string& name,
                                       const ChromaTransformer2DConfig& config)
    : Module(parent, name),
      in_proj(this, "in_proj", config.approximator_num_channels, config.approximator_hidden_dim),
      layers(this, "layers"),
      norms(this, "norms"),
      out_proj(this, "out_proj", config.approximator_hidden_dim, config.inner_dim()) {
  for (int64_t i = 0; i < config.approximator_layers; ++i) {
    layers.add(config.approximator_hidden_dim);
    norms.add(config.approximator_hidden_dim, norms_eps);
  }
}

Tensor ChromaApproximator::forward(Context& cx, const Tensor& x) const {
  return cx.segment(path(), [&] {
    Tensor h = in_proj.forward(cx, x);
    for (size_t i = 0; i < layers.size(); ++i)
      h = layers[i].forward(cx, norms[i].forward(cx, h), h);
    return out_proj.forward(cx, h);
  });
}

ChromaTransformerBlock::ChromaTransformerBlock(Module* parent, const std::string& name,
                                               const FluxTransformer2DConfig& config)
    : FluxStreams(parent, name, config),
      norm1(this, "norm1", config.inner_dim(), block_eps, /*affine=*/false),
      norm1_context(this, "norm1_context", config.inner_dim(), block_eps, /*affine=*/false) {}

nn::TokenStream ChromaTransformerBlock::forward(Context& cx, const nn::TokenStream& x,
                                                const ChromaContext& context, int64_t image,
                                                int64_t text) const {
  return modulated(cx, x,
                   {norm1_context, norm1, both_at(context.modulations, text),
                    both_at(context.modulations, image)},
                   context.rotary, nn::null_if_undefined(context.bias));
}

ChromaSingleTransformerBlock::ChromaSingleTransformerBlock(Module* parent, const std::string& name,
                                                           const FluxTransformer2DConfig& config)
    : FluxParallel(parent, name, config),
      norm(this, "norm", config.inner_dim(), block_eps, /*affine=*/false) {}

Tensor ChromaSingleTransformerBlock::forward(Context& cx, const Tensor& x,
                                             const ChromaContext& context, int64_t at) const {
  return modulated(cx, x, norm, modulation_at(context.modulations, at), context.rotary,
                   nn::null_if_undefined(context.bias));
}

}  // namespace omnirt
