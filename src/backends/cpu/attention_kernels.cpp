#include <ATen/ops/empty.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd/attention.hpp"
#include "backends/cpu/simd/rotary.hpp"
#include "backends/cpu/simd/split_attention.hpp"
#include "backends/cpu/simd/split_product.hpp"
#include "backends/cpu/tensors.hpp"

namespace omnirt::cpu {
namespace {

// Tokens {B, T, heads * d} whose last dimension is contiguous.
template <class Float>
TokenView<Float> tokens(const Tensor& x, Float* data, int64_t heads) {
  return {data, x.stride(0), x.stride(1), x.size(2) / heads};
}

// A dry forward's tensors have shapes alone: images in rows of channels are among them.
bool readable(const Tensor& x) {
  return is_fp32(x) && (x.is_meta() || x.stride(2) == 1);
}

ScoreBias score_bias(const Tensor* bias) {
  if (!bias) return {};
  auto stride = [&](int64_t at) { return bias->size(at) == 1 ? 0 : bias->stride(at); };
  return {bias->const_data_ptr<float>(), stride(0), stride(1), stride(2), stride(3)};
}

// That the sizes go together, the op has seen.
bool accepts(const ops::Attention& args) {
  return args.plain() && is_fp32_or_absent(args.bias) && readable(args.x) && readable(args.key) &&
         readable(args.value) && args.x.numel() > 0 && args.key.size(1) > 0;
}

bool accepts_split(const ops::Attention& args) {
  return accepts(args) && !args.bias && !args.causal &&
         worth_splitting_attention(args.x.size(1), args.key.size(1));
}

// Where there is a matrix unit it takes what is worth its while; else all but tiny products.
constexpr int64_t least_tokens_to_round = 32;

bool accepts_rounded(const ops::Attention& args) {
  return split_available() ? accepts_split(args)
                           : accepts(args) && args.x.size(1) >= least_tokens_to_round;
}

void attention_in_bf16(const AttentionArgs& args) {
  split_available() ? attention_rounded(args) : attention_bf16(args);
}

template <void (*attention)(const AttentionArgs&)>
Tensor run(const ops::Attention& args) {
  Tensor y = at::empty(args.x.sizes(), args.x.options());
  attention({.q = tokens(args.x, args.x.const_data_ptr<float>(), args.heads),
             .k = tokens(args.key, args.key.const_data_ptr<float>(), args.key_heads()),
             .v = tokens(args.value, args.value.const_data_ptr<float>(), args.key_heads()),
             .y = tokens(y, y.data_ptr<float>(), args.heads),
             .batch = args.x.size(0),
             .heads = args.heads,
             .head_dim = args.x.size(2) / args.heads,
             .q_tokens = args.x.size(1),
             .k_tokens = args.key.size(1),
             .scale = static_cast<float>(args.scale),
             .causal = args.causal,
             .bias = score_bias(args.bias),
             .sharing = args.heads / args.key_heads()});
  return y;
}

// {B, T, heads, d} whose heads' values are contiguous.
template <class Float>
TokenView<Float> head_tokens(const Tensor& x, Float* data) {
  return {data, x.stride(0), x.stride(1), x.stride(2)};
}

bool accepts_rotary(const ops::Rotary& args) {
  return is_fp32(args.x) && args.x.numel() > 0 && args.x.stride(3) == 1 && is_fp32(args.table) &&
         args.table.is_contiguous();
}

Tensor run_rotary(const ops::Rotary& args) {
  Tensor y = at::empty(args.x.sizes(), args.x.options());
  const auto* table = args.table.const_data_ptr<float>();
  rotary({.x = head_tokens(args.x, args.x.const_data_ptr<float>()),
          .y = head_tokens(y, y.mutable_data_ptr<float>()),
          .cosines = table,
          .sines = table + args.table.numel() / 2,
          .batch = args.x.size(0),
          .tokens = args.x.size(1),
          .heads = args.x.size(2),
          .head_dim = args.x.size(3),
          .halves = args.pairs == ops::RotaryPairs::halves});
  return y;
}

}  // namespace

void add_split_attention_kernels(ops::OpTable& table) {
  table.attention.add(kernel("cpu split attention", accepts_split, run<attention_split>));
}

void add_rounded_attention_kernels(ops::OpTable& table) {
  table.attention.add(kernel("cpu bf16 attention", accepts_rounded, run<attention_in_bf16>));
}

void add_attention_kernels(ops::OpTable& table) {
  table.attention.add(kernel("cpu flash attention", accepts, run<attention>));
  table.rotary.add(kernel("cpu rotary", accepts_rotary, run_rotary));
}

}  // namespace omnirt::cpu
