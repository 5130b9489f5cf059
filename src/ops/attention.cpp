#include "ops/attention.hpp"

#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

#include <fmt/ranges.h>

#include <limits>
#include <optional>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {
namespace {

// {B, T, heads * d} -> {B, heads, T, d}, a view.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

// The same of keys or values, each head as often as heads of queries share it.
Tensor shared_heads(const Tensor& x, const Attention& args) {
  const int64_t heads = args.key_heads(), each = args.heads / heads;
  Tensor split = split_heads(x, heads);
  if (each == 1) return split;
  return split.unsqueeze(2).expand({-1, -1, each, -1, -1}).flatten(1, 2);
}

// The keys that a query does not see for where they stand, {Tq, Tk}.
Tensor out_of_sight(const Attention& args) {
  auto keys = [&] {
    return at::ones({args.x.size(1), args.key.size(1)}, args.x.options().dtype(at::kBool));
  };
  Tensor later = keys().triu_(1);
  return args.window > 0 ? later.logical_or_(keys().tril_(-args.window)) : later;
}

// What is added to the scores, {B or 1, heads or 1, Tq, Tk}; none where nothing is, or where being
// causal says it all.
std::optional<Tensor> added(const Attention& args, at::ScalarType type) {
  const bool placed = args.causal && !args.plain();
  if (!args.bias && !placed) return {};
  const int64_t queries = args.x.size(1), keys = args.key.size(1);
  Tensor bias = args.bias ? args.bias->to(type) : at::zeros({1, 1, 1, 1}, args.x.options());
  bias = bias.to(type).expand({-1, -1, queries, keys});
  if (!args.causal) return bias;
  return bias.masked_fill(out_of_sight(args), -std::numeric_limits<double>::infinity());
}

// Attention whose scores are held within soft_cap; all {B, heads, T, d}.
Tensor capped(const Attention& args, const Tensor& query, const Tensor& key, const Tensor& value,
              const std::optional<Tensor>& bias) {
  Tensor scores = at::matmul(query, key.transpose(2, 3)).mul_(args.scale / args.soft_cap);
  scores = scores.tanh_().mul_(args.soft_cap);
  if (bias) scores.add_(*bias);
  return at::matmul(at::_safe_softmax(scores, -1), value);
}

}  // namespace

Tensor Attention::reference(const Attention& args) {
  // ATen's kernels for processors do not look whether keys and values go together.
  ensure(fits(args), "queries {}, keys {}, values {} and a bias {} do not fit {} heads over {}",
         fmt::join(args.x.sizes(), " x "), fmt::join(args.key.sizes(), " x "),
         fmt::join(args.value.sizes(), " x "),
         args.bias ? fmt::format("{}", fmt::join(args.bias->sizes(), " x ")) : "of none",
         args.heads, args.key_heads());
  Tensor query = args.x, key = args.key, value = args.value;
  if (args.upcast) {
    query = query.to(at::kFloat);
    key = key.to(at::kFloat);
    value = value.to(at::kFloat);
  }
  std::optional<Tensor> bias = added(args, query.scalar_type());
  query = split_heads(query, args.heads);
  key = shared_heads(key, args);
  value = shared_heads(value, args);
  Tensor y = args.soft_cap > 0 ? capped(args, query, key, value, bias)
                               : at::scaled_dot_product_attention(query, key, value, bias, 0.0,
                                                                  args.causal && !bias, args.scale);
  return y.transpose(1, 2).reshape(args.x.sizes()).to(args.x.scalar_type());
}

Tensor KeyMask::reference(const KeyMask& args) {
  Tensor bias = at::zeros(shape(args), args.x.options().dtype(args.dtype));
  return bias.masked_fill_(args.x.eq(0).view(shape(args)),
                           -std::numeric_limits<double>::infinity());
}

bool KeyMask::fits(const KeyMask& args) {
  return args.x.dim() == 2;
}

bool Attention::fits(const Attention& args) {
  if (args.x.dim() != 3 || args.key.dim() != 3 || !divides(args.heads, args.x.size(2)) ||
      !divides(args.key_heads(), args.heads) || args.soft_cap < 0 || args.window < 0 ||
      (args.window > 0 && !args.causal))
    return false;
  const int64_t batch = args.x.size(0), keys = args.key.size(1);
  const int64_t width = args.x.size(2) / args.heads * args.key_heads();
  const std::array<int64_t, 4> scores{batch, args.heads, args.x.size(1), keys};
  return has_sizes(args.key, {batch, keys, width}) && has_sizes(args.value, {batch, keys, width}) &&
         (!args.bias || (args.bias->dim() == 4 && broadcasts_to(*args.bias, scores) &&
                         args.bias->size(3) == keys));
}

}  // namespace omnirt::ops
