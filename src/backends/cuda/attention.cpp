#include "backends/cuda/attention.hpp"

#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>

namespace omnirt::cuda {
namespace {

int64_t head_width(const ops::Attention& args) {
  return args.x.size(2) / args.heads;
}

// {B, T, heads * d} -> {B, heads, T, d}, a view.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

Tensor join_heads(const Tensor& y, const ops::Attention& args) {
  return y.transpose(1, 2).reshape(args.x.sizes()).to(args.x.scalar_type());
}

bool is_half(const Tensor& x) {
  return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
}

ops::Kernel<ops::Attention> flash_kernel() {
  return {"flash attention",
          [](const ops::Attention& args) {
            // The kernel's own limits; it would pad other widths, which costs what it saves.
            return is_half(args.x) && !args.bias && !args.upcast && head_width(args) % 8 == 0 &&
                   head_width(args) <= 256;
          },
          [](const ops::Attention& args) {
            auto result = at::_scaled_dot_product_flash_attention(
                split_heads(args.x, args.heads), split_heads(args.key, args.heads),
                split_heads(args.value, args.heads), 0.0, args.causal, false, args.scale);
            return join_heads(std::get<0>(result), args);
          }};
}

ops::Kernel<ops::Attention> efficient_kernel() {
  return {"memory-efficient attention",
          [](const ops::Attention& args) {
            bool half = is_half(args.x) && !args.upcast;
            return (half || is_half(args.x) || args.x.scalar_type() == at::kFloat) &&
                   head_width(args) % (half ? 8 : 4) == 0;
          },
          [](const ops::Attention& args) {
            auto cast = [&](const Tensor& x) {
              return split_heads(args.upcast ? x.to(at::kFloat) : x, args.heads);
            };
            auto result = at::_scaled_dot_product_efficient_attention(
                cast(args.x), cast(args.key), cast(args.value), {}, /*compute_log_sumexp=*/false,
                0.0, args.causal, args.scale);
            return join_heads(std::get<0>(result), args);
          }};
}

}  // namespace

void add_fused_attention(ops::OpTable& table, bool flash) {
  if (flash) table.attention.add(flash_kernel());
  table.attention.add(efficient_kernel());
}

}  // namespace omnirt::cuda
