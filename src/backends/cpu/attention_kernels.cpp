#include <ATen/ops/empty.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd/attention.hpp"
#include "backends/cpu/tensors.hpp"

namespace omnirt::cpu {
namespace {

// Tokens {B, T, heads * d} whose last dimension is contiguous.
template <class Float>
TokenView<Float> tokens(const Tensor& x, Float* data, int64_t heads) {
  return {data, x.stride(0), x.stride(1), x.size(2) / heads};
}

bool readable(const Tensor& x) {
  return is_fp32(x) && x.dim() == 3 && x.stride(2) == 1;
}

bool accepts(const ops::Attention& args) {
  return !args.bias && readable(args.x) && readable(args.key) && readable(args.value) &&
         args.x.numel() > 0 && args.key.size(1) > 0;
}

Tensor run(const ops::Attention& args) {
  Tensor y = at::empty(args.x.sizes(), args.x.options());
  attention({.q = tokens(args.x, args.x.const_data_ptr<float>(), args.heads),
             .k = tokens(args.key, args.key.const_data_ptr<float>(), args.heads),
             .v = tokens(args.value, args.value.const_data_ptr<float>(), args.heads),
             .y = tokens(y, y.data_ptr<float>(), args.heads),
             .batch = args.x.size(0),
             .heads = args.heads,
             .head_dim = args.x.size(2) / args.heads,
             .q_tokens = args.x.size(1),
             .k_tokens = args.key.size(1),
             .scale = static_cast<float>(args.scale),
             .causal = args.causal});
  return y;
}

}  // namespace

void add_attention_kernels(ops::OpTable& table) {
  table.attention.add({"cpu flash attention", accepts, run});
}

}  // namespace omnirt::cpu
