#include "images.hpp"

#include <fmt/format.h>

#include <cmath>

namespace omnirt::torch_ops {

Tensor in_channels_last(const Tensor& x) {
  return torch::stable::contiguous(x, torch::headeronly::MemoryFormat::ChannelsLast);
}

Tensor new_channels_last(int64_t batch, int64_t channels, int64_t height, int64_t width) {
  return new_tensor({batch, channels, height, width},
                    {height * width * channels, 1, width * channels, channels});
}

cpu::ConvStrides channels_last_strides(const Tensor& x) {
  const int64_t pixel = x.size(1), row = x.size(3) * pixel;
  return {x.size(2) * row, row, pixel};
}

void Norm::run(const float* x, float* y) const {
  const int64_t sample = shape.pixels * shape.channels;
  group_norm(shape, {x, sample, shape.channels}, weight, bias, activation,
             {y, sample, shape.channels});
}

Norm checked_norm(const char* op, const Tensor& x, int64_t groups, const MaybeTensor& weight,
                  const MaybeTensor& bias, double eps, int64_t activation) {
  const int64_t channels = x.size(1);
  check_range(op, "groups", groups, 1, channels);
  if (channels % groups != 0)
    refuse(op, "groups", groups, fmt::format("x has {} channels, no multiple of it", channels));
  if (!(eps >= 0) || std::isinf(eps))
    throw std::invalid_argument(
        fmt::format("omnirt_ops.{}: eps = {}: 0 and more is taken", op, eps));
  const int64_t pixels = x.numel() / (x.size(0) * channels);
  return {{x.size(0), pixels, channels, groups, eps},
          row_or_null(op, "norm weight", weight, channels),
          row_or_null(op, "norm bias", bias, channels),
          activation_of(op, activation)};
}

void check_padding(const char* op, const Sizes& padding) {
  if (padding.size() != 4)
    refuse(op, "len(padding)", static_cast<int64_t>(padding.size()),
           "four are taken: left, right, top, bottom");
  for (const int64_t zeros : padding) check_range(op, "padding", zeros, 0, 4096);
}

std::pair<int64_t, int64_t> out_size(const char* op, std::pair<int64_t, int64_t> image,
                                     std::pair<int64_t, int64_t> kernel, int64_t stride,
                                     const Sizes& padding) {
  check_padding(op, padding);
  check_range(op, "stride", stride, 1, 4096);
  const int64_t height = image.first + padding[2] + padding[3];
  const int64_t width = image.second + padding[0] + padding[1];
  if (kernel.first > height || kernel.second > width)
    throw std::invalid_argument(
        fmt::format("omnirt_ops.{}: a kernel of {} x {} on an image of {} x {}, padding included",
                    op, kernel.first, kernel.second, height, width));
  return {(height - kernel.first) / stride + 1, (width - kernel.second) / stride + 1};
}

}  // namespace omnirt::torch_ops
