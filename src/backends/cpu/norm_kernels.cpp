#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd/group_norm.hpp"
#include "backends/cpu/simd/layer_norm.hpp"
#include "backends/cpu/simd/rms_norm.hpp"
#include "backends/cpu/tensors.hpp"

namespace omnirt::cpu {
namespace {

bool accepts_group_norm(const ops::GroupNorm& args) {
  return is_fp32(args.x) && args.x.dim() == 4 && args.x.numel() > 0 &&
         is_row_or_absent(args.weight) && is_row_or_absent(args.bias);
}

Tensor run_group_norm(const ops::GroupNorm& args) {
  Tensor x = in_channels_last(args.x);
  Tensor y = new_channels_last(x.sizes().vec(), x);
  int64_t channels = x.size(1), pixels = x.size(2) * x.size(3);
  GroupNormShape shape{x.size(0), pixels, channels, args.groups, args.eps};
  group_norm(shape, {x.const_data_ptr<float>(), pixels * channels, channels},
             data_or_null(args.weight), data_or_null(args.bias), args.activation,
             {y.mutable_data_ptr<float>(), pixels * channels, channels});
  return y;
}

bool accepts_layer_norm(const ops::LayerNorm& args) {
  return is_fp32(args.x) && args.x.dim() >= 1 && args.x.numel() > 0 &&
         is_row_or_absent(args.weight) && is_row_or_absent(args.bias);
}

Tensor run_layer_norm(const ops::LayerNorm& args) {
  Tensor x = args.x.contiguous();
  Tensor y = at::empty(x.sizes(), x.options());
  int64_t width = x.size(-1);
  layer_norm({.x = x.const_data_ptr<float>(),
              .weight = data_or_null(args.weight),
              .bias = data_or_null(args.bias),
              .y = y.mutable_data_ptr<float>(),
              .rows = x.numel() / width,
              .width = width,
              .x_stride = width,
              .y_stride = width,
              .eps = args.eps});
  return y;
}

// {B, T, heads, d} whose heads are contiguous, at whatever distance the tokens: parts of a
// product.
bool is_rows_of_parts(const Tensor& x) {
  return x.dim() == 4 && x.stride(3) == 1 && x.stride(2) == x.size(3) &&
         (x.size(0) == 1 || x.stride(0) == x.size(1) * x.stride(1));
}

bool accepts_rms_norm(const ops::RmsNorm& args) {
  return is_fp32(args.x) && args.x.numel() > 0 && is_row_or_absent(&args.weight);
}

Tensor run_rms_norm(const ops::RmsNorm& args) {
  const bool parts = is_rows_of_parts(args.x);
  Tensor x = parts ? args.x : args.x.contiguous();
  Tensor y = at::empty(x.sizes(), x.options());
  const int64_t width = x.size(-1);
  rms_norm({.x = x.const_data_ptr<float>(),
            .weight = args.weight.const_data_ptr<float>(),
            .y = y.mutable_data_ptr<float>(),
            .rows = parts ? x.size(0) * x.size(1) : x.numel() / width,
            .parts = parts ? x.size(2) : 1,
            .width = width,
            .x_stride = parts ? x.stride(1) : width,
            .eps = args.eps});
  return y;
}

}  // namespace

void add_norm_kernels(ops::OpTable& table) {
  table.group_norm.add(kernel("cpu group_norm", accepts_group_norm, run_group_norm));
  table.layer_norm.add(kernel("cpu layer_norm", accepts_layer_norm, run_layer_norm));
  table.rms_norm.add(kernel("cpu rms_norm", accepts_rms_norm, run_rms_norm));
}

}  // namespace omnirt::cpu
