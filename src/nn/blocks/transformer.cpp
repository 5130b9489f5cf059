#include "nn/blocks/transformer.hpp"

namespace omnirt::nn {
namespace {

constexpr double layer_norm_eps = 1e-5;

AttentionOptions attention(int64_t dim, const TransformerOptions& options, bool crossed) {
  return {.dim = dim,
          .context_dim = crossed ? options.context_dim : 0,
          .heads = options.heads,
          .head_dim = options.head_dim,
          .upcast = options.upcast_attention};
}

}  // namespace

GEGLU::GEGLU(Module* parent, const std::string& name, int64_t dim, int64_t inner)
    : Module(parent, name), proj(this, "proj", dim, 2 * inner) {}

Tensor GEGLU::forward(Context& cx, const Tensor& x) const {
  if (cx.beside(proj.weight)) return cx.ops().geglu(cx, {proj.forward(cx, x)});
  return cx.ops().gated_linear(
      cx, {x, cx.as_encoded(proj.weight), cx.maybe(proj.bias), cx.packing(proj.weight)});
}

FeedForwardNet::FeedForwardNet(Module* parent, const std::string& name, int64_t dim, int64_t inner)
    : Module(parent, name), gate(this, "0", dim, inner), out(this, "2", inner, dim) {}

FeedForward::FeedForward(Module* parent, const std::string& name, int64_t dim)
    : Module(parent, name), net(this, "net", dim, 4 * dim) {}

Tensor FeedForward::forward(Context& cx, const Tensor& x, const Tensor& residual) const {
  if (cx.site(path())) return residual;
  return net.out.forward(cx, net.gate.forward(cx, x), ops::Activation::none, &residual);
}

BasicTransformerBlock::BasicTransformerBlock(Module* parent, const std::string& name, int64_t dim,
                                             const TransformerOptions& options)
    : Module(parent, name),
      norm1(this, "norm1", dim, layer_norm_eps),
      attn1(this, "attn1", attention(dim, options, options.only_cross_attention)),
      norm2(this, "norm2", dim, layer_norm_eps),
      attn2(this, "attn2", attention(dim, options, true)),
      norm3(this, "norm3", dim, layer_norm_eps),
      ff(this, "ff", dim),
      only_cross_attention_(options.only_cross_attention) {}

Tensor BasicTransformerBlock::forward(Context& cx, const Tensor& x,
                                      const AttentionContext& context) const {
  return cx.segment(path(), [&] {
    if (cx.site(path())) return x;
    const Tensor* first = only_cross_attention_ ? &context.text : nullptr;
    Tensor h = attn1.forward(cx, norm1.forward(cx, x), first, x, context.grid);
    h = attn2.forward(cx, norm2.forward(cx, h), context, h);
    return ff.forward(cx, norm3.forward(cx, h), h);
  });
}

}  // namespace omnirt::nn
