#pragma once
#include "arguments.hpp"
#include "backends/cpu/simd/group_norm.hpp"
#include "backends/cpu/simd/winograd.hpp"

namespace omnirt::torch_ops {

// x {B, C, H, W} in channels-last order; x itself where it is so already.
Tensor in_channels_last(const Tensor& x);
// A new {B, C, H, W} in channels-last order.
Tensor new_channels_last(int64_t batch, int64_t channels, int64_t height, int64_t width);
cpu::ConvStrides channels_last_strides(const Tensor& x);

// The normalisation of images {B, C, H, W}, its sizes checked.
struct Norm {
  cpu::GroupNormShape shape;
  const float *weight, *bias;
  cpu::Activation activation;

  void run(const float* x, float* y) const;
};
Norm checked_norm(const char* op, const Tensor& x, int64_t groups, const MaybeTensor& weight,
                  const MaybeTensor& bias, double eps, int64_t activation);

// Four zeros {left, right, top, bottom} around an image.
void check_padding(const char* op, const Sizes& padding);
// That a kernel fits into the padded image; {height, width} of the result.
std::pair<int64_t, int64_t> out_size(const char* op, std::pair<int64_t, int64_t> image,
                                     std::pair<int64_t, int64_t> kernel, int64_t stride,
                                     const Sizes& padding);

}  // namespace omnirt::torch_ops
