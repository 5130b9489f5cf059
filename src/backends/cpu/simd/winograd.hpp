#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/cpu/simd/types.hpp"

// 3x3 stride-1 convolution by Winograd's minimal filtering, F(4x4,3x3) and F(2x2,3x3): Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks" (arXiv 1509.09308). Channels-last.
//
//   y[b,h,w,o] = act(conv3x3(pad(up(x)))[b,h,w,o] + (bias[o] + sample_bias[b,o]) +
//   residual[b,h,w,o])
//
// - F(4x4,3x3) does a quarter of the multiplications of the direct sum, F(2x2,3x3) 4/9 of them. The
//   largest error is about 2e-6 (F4) or 5e-7 (F2) of the largest output.
// - The bits depend neither on the number of threads nor on the rest of the batch.
// - A NaN or an infinity of x makes NaN of every output of each tile (4x4 or 2x2 outputs) whose
//   input patch (6x6 or 4x4) holds it, in all channels: the outputs that the direct sum would spoil
//   and at most three (one) rows and columns more.
namespace omnirt::cpu {

struct WinogradShape {
  int64_t batch = 1;
  int64_t in_channels = 0, out_channels = 0;
  int64_t in_height = 0, in_width = 0;  // of x in memory
  int64_t up_height = 0, up_width = 0;  // nearest-neighbour size before the convolution; 0: none
  int64_t left = 1, right = 1, top = 1, bottom = 1;  // zeros around up(x)

  int64_t conv_height() const { return up_height > 0 ? up_height : in_height; }
  int64_t conv_width() const { return up_width > 0 ? up_width : in_width; }
  int64_t out_height() const { return conv_height() + top + bottom - 2; }
  int64_t out_width() const { return conv_width() + left + right - 2; }
};

// In floats; channels are contiguous. Any alignment.
struct ConvStrides {
  int64_t batch = 0, row = 0, pixel = 0;
};

// With scale and shift (both or neither) a Winograd convolution reads
//   act(x[b,h,w,c] * scale[b,c] + shift[b,c])
// in place of x, as it gathers its tiles; the padding stays zero. act is none or silu: to 3e-7 of
// its value, down to -87; for less, where it is nothing, 2e-38 times the argument.
struct ConvInput {
  const float* data = nullptr;
  ConvStrides strides;
  const float* scale = nullptr;  // [B, C]; null: x as it is
  const float* shift = nullptr;
  int64_t scale_stride = 0;  // floats from a sample's scale (and shift) to the next one's
  Activation activation = Activation::none;
};

struct ConvEpilogue {
  const float* bias = nullptr;         // [O]
  const float* sample_bias = nullptr;  // [B, O]
  int64_t sample_bias_stride = 0;
  const float* residual = nullptr;  // as y; may be y itself
  ConvStrides residual_strides;
  Activation activation = Activation::none;
};

// The forms with bf16 multiply transformed numbers that are rounded to bf16, with sums in fp32, at
// twice the rate: for machines with AVX512-BF16 (winograd_bf16_available). Transforms stay in fp32.
// Noise of 0.4 (F2) and 1.2 (F4) percent of the outputs' size where neighbours are independent, and
// half of that where they are alike as an image's are; a direct sum of rounded numbers has 0.23.
enum class ConvChoice { direct, winograd2, winograd4, winograd2_bf16, winograd4_bf16 };
bool winograd_bf16_available();

// The rule, from the per-sample shape alone (so that a sample has the same bits in a batch).
ConvChoice choose_conv3x3(const WinogradShape& shape);
// The same among direct and the forms with bf16.
ConvChoice choose_conv3x3_bf16(const WinogradShape& shape);

// Filters transformed beforehand, for one form: 4 (F4) or 16/9 (F2) times the fp32 weights, half of
// that for the forms with bf16.
class PackedWinograd {
 public:
  PackedWinograd() = default;
  ConvChoice form() const { return form_; }
  size_t bytes() const { return floats_ * sizeof(float); }

 private:
  friend PackedWinograd pack_winograd(ConvChoice, int64_t, int64_t, const ConvWeights&);
  friend struct WinogradRun;
  struct Free {
    void operator()(float* memory) const;
  };
  std::unique_ptr<float, Free> data_;
  size_t floats_ = 0;
  ConvChoice form_ = ConvChoice::direct;
  int64_t in_channels_ = 0, out_channels_ = 0;
};

// form is not direct.
PackedWinograd pack_winograd(ConvChoice form, int64_t in_channels, int64_t out_channels,
                             const ConvWeights& weights);
size_t packed_winograd_bytes(ConvChoice form, int64_t in_channels, int64_t out_channels);

// y must not overlap x (nor its scale and shift). form is not direct. Sizes are the
// caller's to have checked.
void winograd_conv(ConvChoice form, const WinogradShape& shape, const ConvInput& x,
                   const ConvWeights& weights, const ConvEpilogue& epilogue, float* y,
                   const ConvStrides& y_strides);
// The same bits from filters transformed beforehand.
void winograd_conv(const WinogradShape& shape, const ConvInput& x, const PackedWinograd& weights,
                   const ConvEpilogue& epilogue, float* y, const ConvStrides& y_strides);

}  // namespace omnirt::cpu
