#include "backends/cpu/simd/int8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "images.hpp"
#include "ops.hpp"
#include "weights.hpp"

namespace omnirt::torch_ops {
namespace {

// Rows are padded to this many numbers, columns to panels of 32.
constexpr int64_t inner_step = 64, panel = 32;

int64_t padded(int64_t size, int64_t step) {
  return (size + step - 1) / step * step;
}

template <class Number>
Tensor copied(const Number* from, const Sizes& sizes, ScalarType type) {
  Tensor made = new_rows(sizes, type);
  std::memcpy(made.mutable_data_ptr(), from, static_cast<size_t>(made.numel()) * sizeof(Number));
  return made;
}

const Tensor& typed(const char* op, const char* name, const Tensor& x, int64_t size,
                    ScalarType type) {
  const Argument argument(op, name, x);
  argument.dims(1, 1).shape({size}).contiguous();
  if (x.scalar_type() != type)
    argument.refuse(fmt::format("is {}, not what int8_pack returns",
                                torch::headeronly::toString(x.scalar_type())));
  return x;
}

// The three tensors of int8_pack, whose sizes follow from the weight's.
cpu::Int8View packed_weight(const char* op, const Tensor& values, const Tensor& scales,
                            const Tensor& sums, int64_t rows, int64_t channels, int64_t taps) {
  cpu::Int8View view;
  view.rows = rows;
  view.inner = channels * taps;
  view.padded_inner = padded(view.inner, inner_step);
  view.panels = padded(rows, panel) / panel;
  view.group = cpu::int8_group(channels);
  const int64_t columns = view.columns();
  typed(op, "values", values, columns * view.padded_inner, ScalarType::Char);
  view.data = static_cast<const int8_t*>(values.const_data_ptr());
  view.scales = floats(typed(op, "scales", scales, columns, ScalarType::Float));
  view.sums = static_cast<const int32_t*>(
      typed(op, "sums", sums, columns, ScalarType::Int).const_data_ptr());
  return view;
}

cpu::PackedInt8 packed(const StoredWeight& stored, const Tensor& weight) {
  const int64_t rows = stored.rows(), channels = weight.size(1);
  const int64_t group = cpu::int8_group(channels);
  if (weight.dim() == 2) return cpu::pack_int8(stored.matrix(), false, "weight", group);
  return cpu::pack_int8_conv(stored.filters(), rows, channels, weight.size(2), weight.size(3),
                             "weight", group);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> int8_pack(const Tensor& weight) {
  constexpr const char* op = "int8_pack";
  const StoredWeight stored(op, weight, 2, 4);
  const Argument argument(op, "weight", weight);
  if (weight.dim() == 3) argument.refuse("has 3 dimensions; 2 or 4 are taken");
  if (stored.columns() > cpu::int8_most_inner)
    argument.refuse(fmt::format("has {} inputs for one output; sums are exact up to {}",
                                stored.columns(), cpu::int8_most_inner));
  cpu::PackedInt8 made;
  try {
    made = packed(stored, weight);
  } catch (const InvalidRequest& error) {  // a NaN or an infinity
    argument.refuse(error.findings().front().message);
  }
  const cpu::Int8View view(made);
  const int64_t columns = view.columns();
  return {copied(view.data, {columns * view.padded_inner}, ScalarType::Char),
          copied(view.scales, {columns}, ScalarType::Float),
          copied(view.sums, {columns}, ScalarType::Int)};
}

Tensor int8_linear(const Tensor& x, const Tensor& values, const Tensor& scales, const Tensor& sums,
                   int64_t out_features, const MaybeTensor& bias, int64_t activation) {
  constexpr const char* op = "int8_linear";
  Argument(op, "x", x).dims(1, 8).fp32();
  const int64_t in = x.size(x.dim() - 1);
  check_range(op, "x.shape[-1]", in, 1, cpu::int8_most_inner);
  check_range(op, "out_features", out_features, 1, most_of_a_size);
  const cpu::Int8View weight = packed_weight(op, values, scales, sums, out_features, in, 1);
  const Tensor rows = torch::stable::contiguous(x);
  Sizes sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = out_features;
  const Tensor y = new_rows(sizes);
  cpu::int8_linear({.m = x.numel() / in,
                    .n = out_features,
                    .k = in,
                    .x = floats(rows),
                    .x_stride = in,
                    .y = written_floats(y),
                    .y_stride = out_features,
                    .epilogue = {.bias = row_or_null(op, "bias", bias, out_features),
                                 .activation = activation_of(op, activation)}},
                   weight);
  return y;
}

Tensor int8_conv2d(const Tensor& x, const Tensor& values, const Tensor& scales, const Tensor& sums,
                   int64_t out_channels, Sizes kernel, const MaybeTensor& bias, int64_t stride,
                   Sizes padding, int64_t activation) {
  constexpr const char* op = "int8_conv2d";
  Argument(op, "x", x).dims(4, 4).fp32();
  if (kernel.size() != 2)
    refuse(op, "len(kernel)", static_cast<int64_t>(kernel.size()), "two are taken: height, width");
  for (const int64_t size : kernel) check_range(op, "kernel", size, 1, 256);
  check_range(op, "out_channels", out_channels, 1, most_of_a_size);
  const int64_t channels = x.size(1), taps = kernel[0] * kernel[1];
  check_range(op, "inputs of an output", channels * taps, 1, cpu::int8_most_inner);
  const cpu::Int8View weight =
      packed_weight(op, values, scales, sums, out_channels, channels, taps);
  const auto [height, width] =
      out_size(op, {x.size(2), x.size(3)}, {kernel[0], kernel[1]}, stride, padding);
  Tensor read = in_channels_last(x);
  if (weight.group > 1) {
    const Tensor turned = new_channels_last(x.size(0), channels, x.size(2), x.size(3));
    cpu::int8_rotate(floats(read), x.numel() / channels, channels, weight.group,
                     written_floats(turned));
    read = turned;
  }
  const Tensor y = new_channels_last(x.size(0), out_channels, height, width);
  cpu::int8_conv({.batch = x.size(0),
                  .in_channels = channels,
                  .out_channels = out_channels,
                  .in_height = x.size(2),
                  .in_width = x.size(3),
                  .kernel_height = kernel[0],
                  .kernel_width = kernel[1],
                  .stride = stride,
                  .left = padding[0],
                  .right = padding[1],
                  .top = padding[2],
                  .bottom = padding[3]},
                 {.data = floats(read), .strides = channels_last_strides(x)}, weight,
                 {.bias = row_or_null(op, "bias", bias, out_channels),
                  .activation = activation_of(op, activation)},
                 written_floats(y), channels_last_strides(y));
  return y;
}

}  // namespace omnirt::torch_ops
