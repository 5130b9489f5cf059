#include "ops/linear_attention.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>

#include "ops/sizes.hpp"

namespace omnirt::ops {

Tensor LinearAttention::reference(const LinearAttention& args) {
  auto by_heads = [](const Tensor& x) { return x.to(at::kFloat).transpose(1, 2); };
  const Tensor query = at::relu(by_heads(args.x)), key = at::relu(by_heads(args.key));
  const Tensor sums = at::matmul(key.transpose(2, 3), by_heads(args.value));  // {B, heads, d, d}
  const Tensor weights = key.sum(2).unsqueeze(3);                             // {B, heads, d, 1}
  Tensor y = at::matmul(query, sums);
  y.div_(at::matmul(query, weights).add_(args.eps));
  return y.transpose(1, 2).to(args.x.scalar_type()).contiguous();
}

bool LinearAttention::fits(const LinearAttention& args) {
  return args.x.dim() == 4 &&
         has_sizes(args.key, {args.x.size(0), any, args.x.size(2), args.x.size(3)}) &&
         has_sizes(args.value, args.key.sizes());
}

}  // namespace omnirt::ops
