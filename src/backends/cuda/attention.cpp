#include "backends/cuda/attention.hpp"

#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/empty.h>

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

// Each token's values side by side, and each token at a multiple of 16 bytes: kernels read as many
// at once, and a flash kernel that is given less aligned memory ends the process's use of the
// device.
bool aligned(const Tensor& x) {
  constexpr int64_t alignment = 16;
  const auto width = static_cast<int64_t>(x.element_size());
  return x.stride(2) == 1 && x.stride(1) * width % alignment == 0 &&
         x.stride(0) * width % alignment == 0 &&
         reinterpret_cast<uintptr_t>(x.const_data_ptr()) % alignment == 0;
}

// On the device, of one type, as many heads of keys as of queries; scores as they come.
bool readable(const ops::Attention& args) {
  if (args.key_heads() != args.heads || !args.plain()) return false;
  for (const Tensor* x : {&args.x, &args.key, &args.value}) {
    if (!x->is_cuda() || x->scalar_type() != args.x.scalar_type() || x->numel() == 0 ||
        !aligned(*x)) {
      return false;
    }
  }
  return true;
}

// The flash kernel counts the queries of a causal mask from the last key, an op's from the first.
bool same_from_both_ends(const ops::Attention& args) {
  return !args.causal || args.x.size(1) == args.key.size(1);
}

// The bias {B or 1, heads or 1, Tq or 1, Tk} as the kernel reads it: of the queries' type, its rows
// beginning at multiples of 16 numbers, the same memory for all that share it. {B, heads, Tq, Tk}.
Tensor aligned_bias(const Tensor& bias, const Tensor& query) {
  constexpr int64_t alignment = 16;
  const int64_t keys = bias.size(3), row = (keys + alignment - 1) / alignment * alignment;
  Tensor room = at::empty({bias.size(0), bias.size(1), bias.size(2), row}, query.options());
  Tensor rows = room.narrow(3, 0, keys);
  rows.copy_(bias);
  return rows.expand({query.size(0), query.size(1), query.size(2), keys});
}

ops::Kernel<ops::Attention> flash_kernel() {
  return {"flash attention",
          [](const ops::Attention& args) {
            // The kernel's own limits; it would pad other widths, which costs what it saves.
            return readable(args) && is_half(args.x) && !args.bias && !args.upcast &&
                   same_from_both_ends(args) && head_width(args) % 8 == 0 &&
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
            bool known = is_half(args.x) || args.x.scalar_type() == at::kFloat;
            bool in_half = is_half(args.x) && !args.upcast;
            return known && readable(args) && !(args.bias && args.causal) &&
                   head_width(args) % (in_half ? 8 : 4) == 0;
          },
          [](const ops::Attention& args) {
            auto cast = [&](const Tensor& x) {
              return split_heads(args.upcast ? x.to(at::kFloat) : x, args.heads);
            };
            Tensor query = cast(args.x);
            std::optional<Tensor> bias;
            if (args.bias) bias = aligned_bias(*args.bias, query);
            auto result = at::_scaled_dot_product_efficient_attention(
                query, cast(args.key), cast(args.value), bias, /*compute_log_sumexp=*/false, 0.0,
                args.causal, args.scale);
            return join_heads(std::get<0>(result), args);
          }};
}

}  // namespace

void add_fused_attention(ops::OpTable& table, bool flash) {
  if (flash) table.attention.add(flash_kernel());
  table.attention.add(efficient_kernel());
}

}  // namespace omnirt::cuda
