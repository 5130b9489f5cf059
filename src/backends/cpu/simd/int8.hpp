#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/simd/gemm.hpp"
#include "backends/cpu/simd/winograd.hpp"

// Linear layers and convolutions over weights rounded to eight bits, float32 in and out.
//
//   w[n][k] = weight_scale[n] * v[n][k], v in [-127, 127], nearest, weight_scale = max|w[n]| / 127
//   x[m][k] = scale[m] * (u[m][k] - zero[m]), u in [0, 255], scale from the range of row m
//   y[m][n] = act((scale[m] * sum over k of (u - zero) v) * weight_scale[n] + bias + residual)
//
// * Activations are rounded as they come, each row of the product by its own range (zero always
//   in it, so that padding is exact). A row is a token of a linear layer, and of a convolution the
//   patch under one output pixel: an outlier then coarsens only the outputs that see it, where one
//   range per sample would cost about ten decibels after a normalisation. Unsigned with a zero
//   point, because what follows SiLU or GELU is nearly all positive: a sign would waste a bit.
// * Before both are rounded, rows may be rotated: groups of 256 (64, 16) neighbouring inputs are
//   multiplied by an orthonormal Hadamard matrix H, w' = w H and x' = x H, so that x' w' = x w. A
//   channel a hundred times as large as the others, which would take all the bits of its row, is
//   then spread over its group: QuaRot (Ashkboos et al., arXiv 2404.00456). H is the Kronecker
//   power of the 4x4 matrix whose rows have the same sum, for in Sylvester's the first row would
//   gather the mean of what is positive, as activations are after SiLU or GELU, into one large
//   number: ConvRot (arXiv 2512.03673). H is its own inverse.
// * Sums are exact 32-bit integers on every target. So the bits depend neither on the number of
//   threads nor on the rest of the batch.
// * A file that holds such bytes (INT8 ConvRot) is multiplied as it is: each panel is laid out in
// the
//   cache within the product, so that no copy of the weight exists.
// * A NaN or an infinity of x makes NaN of all outputs whose row (patch) holds it: those that
//   fp32 would spoil. Values below about 1e-33 count as zero.
namespace omnirt::cpu {

// The longest row: beyond, a sum could leave 32 bits.
constexpr int64_t int8_most_inner = 65536;

// The largest group that `inputs` are rotated in: 256, 64 or 16; 1: none divides them.
int64_t int8_group(int64_t inputs);
// Whether rows are rotated in groups of this many: one of these, or 1, not at all.
bool int8_rotates(int64_t group);

// Rounded weights in panels [K / 4][32][4], K padded with zeros to a multiple of 64; the form does
// not depend on the SIMD target. About 1 byte per weight.
class PackedInt8 {
 public:
  PackedInt8() = default;
  size_t bytes() const;
  int64_t rows() const { return rows_; }    // as in the file: 2 N when gated
  int64_t inner() const { return inner_; }  // columns of a matrix; I * kernel height * width
  bool gated() const { return gated_; }
  int64_t group() const { return group_; }  // of inputs that were rotated together; 1: none were

 private:
  friend class Int8Packer;
  friend struct Int8View;
  struct Free {
    void operator()(int8_t* memory) const;
  };
  std::unique_ptr<int8_t, Free> data_;
  // Of each column of the panels, those that pad included: a halved panel pair when gated.
  std::vector<float> scales_;
  std::vector<int32_t> sums_;
  int64_t rows_ = 0, inner_ = 0, padded_inner_ = 0, panels_ = 0;
  int64_t group_ = 1;
  bool gated_ = false;
};

// Packed weights as a product reads them: a PackedInt8's, or its parts in memory of another owner's
// (tensors of torch).
struct Int8View {
  const int8_t* data = nullptr;
  const float* scales = nullptr;
  const int32_t* sums = nullptr;
  int64_t rows = 0, inner = 0, padded_inner = 0, panels = 0, group = 1;
  bool gated = false;

  Int8View() = default;
  Int8View(const PackedInt8& packed)
      : data(packed.data_.get()),
        scales(packed.scales_.data()),
        sums(packed.sums_.data()),
        rows(packed.rows_),
        inner(packed.inner_),
        padded_inner(packed.padded_inner_),
        panels(packed.panels_),
        group(packed.group_),
        gated(packed.gated_) {}

  int64_t outputs() const { return gated ? rows / 2 : rows; }
  int64_t unit() const { return gated ? 2 : 1; }  // panels that one panel of y takes
  int64_t columns() const;                        // of all panels: as many as scales and sums
  size_t panel_bytes() const;
  // Else of a file (int8_view.hpp), whose sums are found as its panels are laid out.
  bool packed() const { return sums != nullptr; }
};

// A matrix as a file holds it: [rows][columns] signed bytes, each times the scale of its row, which
// was rotated in groups (1: not). Rows of at most int8_most_inner.
struct Int8Matrix {
  const int8_t* data;
  int64_t rows, columns;
  int64_t group;        // see int8_rotates
  const float* scales;  // [rows]
};

// Bytes that packing takes.
size_t packed_int8_bytes(int64_t rows, int64_t inner, bool gated = false);

// [rows][columns]. gated: for an epilogue with geglu. Throws InvalidFile where a
// weight is NaN or infinite, naming `name` and the output channel; Unsupported for rows longer than
// int8_most_inner. group: what int8_group says of the columns, or 1.
PackedInt8 pack_int8(const WeightView& weight, bool gated = false, const std::string& name = {},
                     int64_t group = 1);

// The bytes as they are.
PackedInt8 pack_int8(const Int8Matrix& weight, bool gated = false);

// [O][I][kernel_height][kernel_width] contiguous. group: what int8_group says of I, or 1; channels
// are rotated, and those of x must be (int8_rotate).
PackedInt8 pack_int8_conv(const ConvWeights& weight, int64_t out_channels, int64_t in_channels,
                          int64_t kernel_height, int64_t kernel_width, const std::string& name = {},
                          int64_t group = 1);

// y[pixel] = x[pixel] rotated in groups of channels, contiguous; y may be x.
void int8_rotate(const float* x, int64_t pixels, int64_t channels, int64_t group, float* y);

// The arguments of gemm; with geglu the weight must have been packed gated. Rows are rotated here
// where the weight's are.
// Throws InternalError when sizes do not agree.
void int8_linear(const GemmArgs& args, const Int8View& weight);
// The same bits from the file's matrix, each panel laid out as it is multiplied.
void int8_linear(const GemmArgs& args, const Int8Matrix& weight);

struct Int8ConvShape {
  int64_t batch = 1;
  int64_t in_channels = 0, out_channels = 0;
  int64_t in_height = 0, in_width = 0;  // of x in memory
  int64_t up_height = 0, up_width = 0;  // nearest-neighbour size before the convolution; 0: none
  int64_t kernel_height = 3, kernel_width = 3, stride = 1;
  int64_t left = 1, right = 1, top = 1, bottom = 1;  // zeros around up(x)

  int64_t conv_height() const { return up_height > 0 ? up_height : in_height; }
  int64_t conv_width() const { return up_width > 0 ? up_width : in_width; }
  int64_t out_height() const { return (conv_height() + top + bottom - kernel_height) / stride + 1; }
  int64_t out_width() const { return (conv_width() + left + right - kernel_width) / stride + 1; }
};

// y[b,h,w,o] = act(conv(pad(up(x))) + bias[o] + sample_bias[b,o] + residual[b,h,w,o]), channels
// contiguous. y must not overlap x. Throws InternalError when sizes do not agree.
void int8_conv(const Int8ConvShape& shape, const ConvInput& x, const Int8View& weight,
               const ConvEpilogue& epilogue, float* y, const ConvStrides& y_strides);

}  // namespace omnirt::cpu
