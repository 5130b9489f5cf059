#include "backends/cpu/simd/attention.hpp"

#include <fmt/format.h>

#include <cmath>

#include "backends/cpu/simd/bf16_product.hpp"
#include "backends/cpu/simd/split_attention.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "ops.hpp"

namespace omnirt::torch_ops {
namespace {

constexpr const char* op = "attention";

// {B, heads, T, d} whose last dimension is contiguous; a copy where it is not.
Tensor readable(const Tensor& x) {
  return x.stride(3) == 1 || x.size(3) == 1 ? x : torch::stable::contiguous(x);
}

cpu::TokenView<const float> tokens(const Tensor& x) {
  return {floats(x), x.stride(0), x.stride(2), x.stride(1)};
}

cpu::ScoreBias score_bias(const MaybeTensor& mask) {
  if (!mask) return {};
  auto stride = [&](int64_t at) { return mask->size(at) == 1 ? 0 : mask->stride(at); };
  return {floats(*mask), stride(0), stride(1), stride(2), stride(3)};
}

void check_keys(const Tensor& query, const Tensor& key, const Tensor& value) {
  Argument(op, "query", query).dims(4, 4).fp32();
  Argument(op, "key", key).dims(4, 4).fp32();
  Argument(op, "value", value).dims(4, 4).fp32();
  const int64_t batch = query.size(0), heads = key.size(1), head_dim = query.size(3);
  Argument(op, "key", key).shape({batch, heads, key.size(2), head_dim});
  Argument(op, "value", value).shape({batch, heads, key.size(2), head_dim});
  if (query.size(1) % heads != 0)
    Argument(op, "key", key)
        .refuse(
            fmt::format("has {} heads, which do not divide the query's {}", heads, query.size(1)));
}

void check_mask(const Tensor& query, const Tensor& key, const Tensor& mask) {
  const Argument argument(op, "mask", mask);
  argument.dims(4, 4).fp32();
  const int64_t wanted[] = {query.size(0), query.size(1), query.size(2), key.size(2)};
  for (int64_t at = 0; at < 4; ++at) {
    if (mask.size(at) != 1 && mask.size(at) != wanted[at])
      argument.refuse(fmt::format("has {} in dimension {}, where 1 or {} is taken", mask.size(at),
                                  at, wanted[at]));
  }
}

void run(const cpu::AttentionArgs& args, Precision precision) {
  const bool plain = !args.bias.data && !args.causal;
  const bool split = cpu::split_available() && plain &&
                     cpu::worth_splitting_attention(args.q_tokens, args.k_tokens);
  if (precision == Precision::highest) return cpu::attention(args);
  if (precision == Precision::high)
    return split ? cpu::attention_split(args) : cpu::attention(args);
  split ? cpu::attention_rounded(args) : cpu::attention_bf16(args);
}

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const MaybeTensor& mask, double scale, bool causal, int64_t precision) {
  check_keys(query, key, value);
  if (mask) check_mask(query, key, *mask);
  if (!std::isfinite(scale))
    throw std::invalid_argument(fmt::format("omnirt_ops.{}: scale = {}: not finite", op, scale));
  const int64_t batch = query.size(0), heads = query.size(1), count = query.size(2),
                head_dim = query.size(3);
  // In the memory of {B, T, heads, d}, as the layer after it reads it.
  const int64_t width = heads * head_dim;
  const Tensor y = new_tensor({batch, heads, count, head_dim}, {count * width, head_dim, width, 1});
  const Tensor q = readable(query), k = readable(key), v = readable(value);
  run({.q = tokens(q),
       .k = tokens(k),
       .v = tokens(v),
       .y = {written_floats(y), count * width, width, head_dim},
       .batch = batch,
       .heads = heads,
       .head_dim = head_dim,
       .q_tokens = count,
       .k_tokens = key.size(2),
       .scale = static_cast<float>(scale),
       .causal = causal,
       .bias = score_bias(mask),
       .sharing = heads / key.size(1)},
      precision_of(op, precision));
  return y;
}

}  // namespace omnirt::torch_ops
