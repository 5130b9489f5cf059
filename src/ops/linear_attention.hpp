#pragma once
#include "ops/op.hpp"

namespace omnirt::ops {

// Attention by relu(x) and relu(key) in place of the softmax (Katharopoulos et al. 2020, arXiv
// 2006.16236; Cai et al. 2022, arXiv 2205.14756): linear in the number of tokens, for what keys and
// values sum up to is made once for all queries. In fp32 whatever the dtype, as the reference
// (diffusers SanaLinearAttnProcessor2_0). x (the queries) {B, Tq, heads, d}, key and value {B, Tk,
// heads, d}, of any strides; y {B, Tq, heads, d}, of contiguous tokens.
struct LinearAttention {
  static constexpr const char* name = "linear_attention";
  static constexpr const char* summary =
      "y = relu(x) (relu(key)^T value) / (relu(x) sum(relu(key)) + eps), by heads";
  const Tensor& x;
  const Tensor& key;
  const Tensor& value;
  double eps = 1e-15;
  static Shape shape(const LinearAttention& args) { return args.x.sizes().vec(); }
  static Tensor reference(const LinearAttention& args);
  static bool fits(const LinearAttention& args);
  static Samples<LinearAttention> samples();
};

}  // namespace omnirt::ops
