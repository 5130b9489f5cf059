#include "nn/blocks/attention.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/ensure.hpp"
#include "nn/blocks/image_prompts.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

int64_t inner(const AttentionOptions& options) {
  return options.heads * options.head_dim;
}

int64_t context(const AttentionOptions& options) {
  return options.context_dim > 0 ? options.context_dim : options.dim;
}

}  // namespace

Attention::Attention(Module* parent, const std::string& name, const AttentionOptions& options)
    : Module(parent, name),
      to_q(this, "to_q", options.dim, inner(options), options.bias),
      to_k(this, "to_k", context(options), inner(options), options.bias),
      to_v(this, "to_v", context(options), inner(options), options.bias),
      to_out(this, "to_out"),
      options_(options) {
  to_out.add(inner(options), options.dim);
  if (options.norm_groups > 0) {
    group_norm.emplace(this, "group_norm", options.norm_groups, options.dim, options.norm_eps);
  }
}

Tensor Attention::forward(Context& cx, const Tensor& x, const Tensor* context,
                          const Tensor& residual, const std::array<int64_t, 2>& grid) const {
  return forward(cx, x, context, nullptr, &residual, grid);
}

Tensor Attention::forward(Context& cx, const Tensor& x, const Tensor* context, const Tensor* bias,
                          const Tensor* residual, const std::array<int64_t, 2>& grid) const {
  const SiteChange* change = context ? nullptr : cx.site(path());
  if (change && change->what == SiteChange::What::skip)
    return residual ? *residual : cx.ops().affine(cx, {x, 0.0, 0.0});
  if (change && change->what == SiteChange::What::identity_attention)
    return to_out[0].forward(cx, to_v.forward(cx, x), ops::Activation::none, residual);
  const Tensor& source = context ? *context : x;
  Tensor query = to_q.forward(cx, x);
  if (change) query = blurred(cx, query, *change, grid);
  Tensor y = attended(cx, query, source, bias);
  return to_out[0].forward(cx, y, ops::Activation::none, residual);
}

Tensor Attention::forward(Context& cx, const Tensor& x, const AttentionContext& context,
                          const Tensor& residual) const {
  Tensor query = to_q.forward(cx, x);
  Tensor y = context.entities.empty() ? attended(cx, query, context.text, nullptr, "", context.rows)
                                      : attended_by_parts(cx, query, context);
  if (context.images) {
    double scale = 1.0 / std::sqrt(static_cast<double>(options_.head_dim));
    y = context.images->attended(cx, path(), query, std::move(y), options_.heads, scale);
  }
  return to_out[0].forward(cx, y, ops::Activation::none, &residual);
}

Tensor Attention::attended(Context& cx, const Tensor& query, const Tensor& source,
                           const Tensor* bias, const std::string& site,
                           const std::vector<int64_t>& rows) const {
  auto made = [&](const Linear& to) {
    Tensor y = cx.once(to.path() + site, source, [&] { return to.forward(cx, source); });
    return rows.empty() ? y : cx.ops().take_rows(cx, {y, rows});
  };
  Tensor key = made(to_k), value = made(to_v);
  double scale = 1.0 / std::sqrt(static_cast<double>(options_.head_dim));
  return cx.ops().attention(
      cx, {query, key, value, options_.heads, scale, /*causal=*/false, options_.upcast, bias});
}

Tensor Attention::attended_by_parts(Context& cx, const Tensor& query,
                                    const AttentionContext& context) const {
  Tensor y = attended(cx, query, context.text, nullptr, "", context.rows);
  y = cx.ops().gate(cx, {y, weights_of(context, 0), nullptr});
  for (size_t i = 0; i < context.entities.size(); ++i) {
    Tensor part = attended(cx, query, context.entities[i], nullptr, fmt::format(" entity {}", i));
    y = cx.ops().gate(cx, {part, weights_of(context, static_cast<int64_t>(i) + 1), &y});
  }
  return y;
}

Tensor Attention::blurred(Context& cx, const Tensor& query, const SiteChange& change,
                          const std::array<int64_t, 2>& grid) const {
  bool infinite = change.sigma >= infinite_blur;
  ensure(infinite || grid[0] * grid[1] == query.size(1),
         "queries of {} are to be blurred over {}x{} pixels", path(), grid[0], grid[1]);
  return cx.ops().blur_tokens(cx, {query, grid[0], grid[1], change.sigma, infinite});
}

Tensor Attention::forward_pixels(Context& cx, const Tensor& x) const {
  Tensor normed = group_norm ? group_norm->forward(cx, x) : x;
  Tensor y = forward(cx, tokens_of(normed), nullptr, tokens_of(x));
  return image_of(y, x.size(2), x.size(3));
}

}  // namespace omnirt::nn
