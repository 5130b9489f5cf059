#include "ops/attention.hpp"

#include <ATen/ops/scaled_dot_product_attention.h>

namespace omnirt::ops {
namespace {

// {B, T, heads * d} -> {B, heads, T, d}, a view.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

}  // namespace

Tensor Attention::reference(const Attention& args) {
  Tensor query = args.x, key = args.key, value = args.value;
  if (args.upcast) {
    query = query.to(at::kFloat);
    key = key.to(at::kFloat);
    value = value.to(at::kFloat);
  }
  std::optional<Tensor> bias;
  if (args.bias) {
    bias = args.bias->to(query.scalar_type()).expand({-1, -1, query.size(1), key.size(1)});
  }
  Tensor y = at::scaled_dot_product_attention(
      split_heads(query, args.heads), split_heads(key, args.heads), split_heads(value, args.heads),
      bias, 0.0, args.causal, args.scale);
  return y.transpose(1, 2).reshape(args.x.sizes()).to(args.x.scalar_type());
}

}  // namespace omnirt::ops
