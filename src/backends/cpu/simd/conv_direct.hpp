#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/gemm.hpp"

// y[b,h,w,o] = act(conv(pad(up(x)))[b,h,w,o] + bias[o] + sample_bias[b,o] + residual[b,h,w,o]),
// channels last, for any kernel size, stride and padding.
//
// * A 1x1 convolution is the product of gemm itself. Others gather the patches of a dozen pixels at
//   a time (one cache-sized block of channels) during the product: the matrix of all patches never
//   exists, nor does the upsampled image.
// * Bits do not depend on the number of threads or on the rest of the batch.
// * A NaN or an infinity of x reaches exactly the outputs whose window holds it.
namespace omnirt::cpu {

struct DirectConvShape {
  int64_t batch = 1;
  int64_t in_channels = 0, out_channels = 0;
  int64_t in_height = 0, in_width = 0;  // of x in memory
  int64_t up_height = 0, up_width = 0;  // nearest-neighbour size before the convolution; 0: none
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride = 1;
  std::array<int64_t, 4> padding{0, 0, 0, 0};  // zeros {left, right, top, bottom} around up(x)

  int64_t conv_height() const { return up_height > 0 ? up_height : in_height; }
  int64_t conv_width() const { return up_width > 0 ? up_width : in_width; }
  int64_t out_height() const {
    return (conv_height() + padding[2] + padding[3] - kernel_height) / stride + 1;
  }
  int64_t out_width() const {
    return (conv_width() + padding[0] + padding[1] - kernel_width) / stride + 1;
  }
  int64_t taps() const { return kernel_height * kernel_width; }
};

// An image is pixels [b][h][w] one after the other, `pixel` floats apart; channels are contiguous.
struct DirectConvArgs {
  DirectConvShape shape;
  const float* x = nullptr;
  int64_t x_pixel = 0;
  float* y = nullptr;  // must not overlap x
  int64_t y_pixel = 0;
  const float* bias = nullptr;         // [O]
  const float* sample_bias = nullptr;  // [B][O]
  int64_t sample_bias_stride = 0;
  const float* residual = nullptr;  // as y; may be y itself
  int64_t residual_pixel = 0;
  Activation activation = Activation::none;
};

// Throws InternalError where sizes do not agree.
void conv_direct(const DirectConvArgs& args, const ConvWeights& weights);
void conv_direct(const DirectConvArgs& args, const PackedMatrix& weights);

// Weights widened and packed beforehand; packed_bytes(O, I * kh * kw) says what that takes.
PackedMatrix pack_conv(const DirectConvShape& shape, const ConvWeights& weights);

}  // namespace omnirt::cpu
