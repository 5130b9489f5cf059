#include "nn/blocks/rotary_attention.hpp"

#include <cmath>

namespace omnirt::nn {

Tensor scaled_tokens(Context& cx, const Tensor& x, const Tensor& scale) {
  return cx.ops().gate(cx, {x, cx.ops().affine(cx, {scale, 1.0, 1.0})});
}

SandwichModulation SandwichModulation::of(const Tensor& all) {
  const int64_t width = all.size(1) / 4;
  auto part = [&](int64_t i) { return all.unsqueeze(1).narrow(2, i * width, width); };
  return {part(0), part(1), part(2), part(3)};
}

RotaryAttention::RotaryAttention(Module* parent, const std::string& name,
                                 const RotaryAttentionOptions& options)
    : Module(parent, name),
      to_q(this, "to_q", options.dim, options.dim, false),
      to_k(this, "to_k", options.dim,
           options.dim / options.heads * (options.kv_heads > 0 ? options.kv_heads : options.heads),
           false),
      to_v(this, "to_v", options.dim, to_k.out(), false),
      to_out(this, "to_out"),
      heads_(options.heads),
      kv_heads_(options.kv_heads),
      head_dim_(options.dim / options.heads) {
  to_out.add(options.dim, options.dim, false);
  if (!options.qk_norm) return;
  norm_q.emplace(this, "norm_q", head_dim_, options.norm_eps, options.norms_from_one);
  norm_k.emplace(this, "norm_k", head_dim_, options.norm_eps, options.norms_from_one);
}

Tensor RotaryAttention::placed(Context& cx, const Tensor& x, const std::optional<RmsNorm>& norm,
                               const Tensor* rotary) const {
  Tensor heads = x.view({x.size(0), x.size(1), -1, head_dim_});
  if (norm) heads = norm->forward(cx, heads);
  if (rotary) heads = cx.ops().rotary(cx, {heads, *rotary, ops::RotaryPairs::neighbours});
  return heads.flatten(2);
}

RotaryAttention::Parts RotaryAttention::parts(Context& cx, const Tensor& x,
                                              const Tensor* rotary) const {
  Tensor query = placed(cx, to_q.forward(cx, x), norm_q, rotary);
  Tensor key = placed(cx, to_k.forward(cx, x), norm_k, rotary);
  return {query, key, to_v.forward(cx, x)};
}

Tensor RotaryAttention::attended(Context& cx, const Parts& of, bool causal,
                                 const Tensor* bias) const {
  return cx.ops().attention(cx, {.x = of.query,
                                 .key = of.key,
                                 .value = of.value,
                                 .heads = heads_,
                                 .scale = 1.0 / std::sqrt(static_cast<double>(head_dim_)),
                                 .causal = causal,
                                 .bias = bias,
                                 .kv_heads = kv_heads_});
}

Tensor RotaryAttention::forward(Context& cx, const Tensor& x, const Tensor& rotary) const {
  return to_out[0].forward(cx, attended(cx, x, &rotary));
}

Tensor gated_tokens(Context& cx, const Tensor& x, const Tensor& through, const RmsNorm& after,
                    const Tensor& gate) {
  Tensor opened = cx.ops().soft_clamp(cx, {gate, /*bound=*/1.0});
  return cx.ops().gate(cx, {after.forward(cx, through), opened, &x});
}

}  // namespace omnirt::nn
