#include "networks/pixart_transformer_2d_model/blocks.hpp"

namespace omnirt {
namespace {

nn::AttentionOptions attention(const PixArtTransformer2DConfig& config, int64_t context_dim) {
  return {.dim = config.inner_dim(),
          .context_dim = context_dim,
          .heads = config.num_attention_heads,
          .head_dim = config.attention_head_dim,
          .bias = config.attention_bias,
          .upcast = config.upcast_attention};
}

}  // namespace

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
