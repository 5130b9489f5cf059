#include "nn/blocks/sana_attention.hpp"

#include <cmath>

namespace omnirt::nn {
namespace {

constexpr double sana_qk_norm_eps = 1e-5;

}  // namespace

SanaAttention::SanaAttention(Module* parent, const std::string& name, const Options& options)
    : Module(parent, name),
      to_q(this, "to_q", options.dim, options.heads * options.head_dim, options.bias),
      to_k(this, "to_k", options.context_dim, options.heads * options.head_dim, options.bias),
      to_v(this, "to_v", options.context_dim, options.heads * options.head_dim, options.bias),
      to_out(this, "to_out"),
      options_(options) {
  const int64_t inner = options.heads * options.head_dim;
  to_out.add(inner, options.dim);
  if (!options.norm) return;
  norm_q.emplace(this, "norm_q", inner, sana_qk_norm_eps);
  norm_k.emplace(this, "norm_k", inner, sana_qk_norm_eps);
}

Tensor SanaAttention::query(Context& cx, const Tensor& x) const {
  Tensor made = to_q.forward(cx, x);
  return norm_q ? norm_q->forward(cx, made) : made;
}

Tensor SanaAttention::key(Context& cx, const Tensor& x) const {
  Tensor made = to_k.forward(cx, x);
  return norm_k ? norm_k->forward(cx, made) : made;
}

Tensor SanaLinearAttention::forward(Context& cx, const Tensor& x,
                                    const std::array<int64_t, 2>& grid) const {
  const SiteChange* change = cx.site(path());
  if (change && change->what == SiteChange::What::skip) return cx.ops().affine(cx, {x, 0.0, 0.0});
  Tensor v = to_v.forward(cx, x);
  if (change && change->what == SiteChange::What::identity_attention)
    return to_out[0].forward(cx, v);
  Tensor q = query(cx, x), k = key(cx, x);
  if (change) {
    q = cx.ops().blur_tokens(cx,
                             {q, grid[0], grid[1], change->sigma, change->sigma >= infinite_blur});
  }
  auto by_heads = [&](const Tensor& each) {
    return each.view({x.size(0), x.size(1), options_.heads, options_.head_dim});
  };
  Tensor y = cx.ops().linear_attention(cx, {by_heads(q), by_heads(k), by_heads(v)});
  return to_out[0].forward(cx, y.view({x.size(0), x.size(1), options_.heads * options_.head_dim}));
}

Tensor SanaCrossAttention::forward(Context& cx, const Tensor& x, const Tensor& text,
                                   const Tensor& residual) const {
  Tensor k = cx.once(to_k.path(), text, [&] { return key(cx, text); });
  Tensor v = cx.once(to_v.path(), text, [&] { return to_v.forward(cx, text); });
  const double scale = 1.0 / std::sqrt(static_cast<double>(options_.head_dim));
  Tensor q = query(cx, x);
  Tensor y = cx.ops().attention(cx, {q, k, v, options_.heads, scale});
  return to_out[0].forward(cx, y, ops::Activation::none, &residual);
}

}  // namespace omnirt::nn
