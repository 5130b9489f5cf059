#include "ops/attention.hpp"

#include <ATen/ops/scaled_dot_product_attention.h>

#include <fmt/ranges.h>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {
namespace {

// {B, T, heads * d} -> {B, heads, T, d}, a view.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

}  // namespace

Tensor Attention::reference(const Attention& args) {
  // ATen's kernels for processors do not look whether keys and values go together.
  ensure(fits(args), "queries {}, keys {}, values {} and a bias {} do not fit {} heads",
         fmt::join(args.x.sizes(), " x "), fmt::join(args.key.sizes(), " x "),
         fmt::join(args.value.sizes(), " x "),
         args.bias ? fmt::format("{}", fmt::join(args.bias->sizes(), " x ")) : "of none",
         args.heads);
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

bool Attention::fits(const Attention& args) {
  if (args.x.dim() != 3 || args.key.dim() != 3 || !divides(args.heads, args.x.size(2)))
    return false;
  const int64_t batch = args.x.size(0), keys = args.key.size(1), width = args.x.size(2);
  const std::array<int64_t, 4> scores{batch, args.heads, args.x.size(1), keys};
  return has_sizes(args.key, {batch, keys, width}) && has_sizes(args.value, {batch, keys, width}) &&
         (!args.bias || (args.bias->dim() == 4 && broadcasts_to(*args.bias, scores) &&
                         args.bias->size(3) == keys && !args.causal));
}

}  // namespace omnirt::ops
