#include "networks/pixart_transformer_2d_model/blocks.hpp"

#include "nn/blocks/pixart_embeddings.hpp"
#include "nn/layout.hpp"

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
  const auto [by, by_ff] = nn::modulations_by_table(cx, context.modulation, cx[scale_shift_table]);
  Tensor h = nn::modulated_by(cx, norm1, x, by);
  h = attn1.forward(cx, h, nullptr, nullptr, nullptr, context.grid);
  h = cx.ops().gate(cx, {h, by.gate, &x});
  h = attn2.forward(cx, h, &context.text, nn::null_if_undefined(context.text_bias), &h);
  if (cx.site(ff.path())) return h;
  Tensor made = ff.forward(cx, nn::modulated_by(cx, norm2, h, by_ff));
  return cx.ops().gate(cx, {made, by_ff.gate, &h});
}

}  // namespace omnirt
