#include "nn/blocks/attention.hpp"

#include <cmath>

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
                          const Tensor& residual) const {
  const Tensor& source = context ? *context : x;
  Tensor query = to_q.forward(cx, x);
  Tensor key = cx.once(to_k.path(), source, [&] { return to_k.forward(cx, source); });
  Tensor value = cx.once(to_v.path(), source, [&] { return to_v.forward(cx, source); });
  double scale = 1.0 / std::sqrt(static_cast<double>(options_.head_dim));
  Tensor y = cx.ops().attention(
      cx, {query, key, value, options_.heads, scale, /*causal=*/false, options_.upcast});
  return to_out[0].forward(cx, y, ops::Activation::none, &residual);
}

Tensor Attention::forward_pixels(Context& cx, const Tensor& x) const {
  Tensor normed = group_norm ? group_norm->forward(cx, x) : x;
  Tensor y = forward(cx, tokens_of(normed), nullptr, tokens_of(x));
  return image_of(y, x.size(2), x.size(3));
}

}  // namespace omnirt::nn
