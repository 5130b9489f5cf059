#pragma once
#include <cstdint>

#include "backends/cpu/simd/types.hpp"

// Maps over floats. All arrays are contiguous unless a stride (in floats) is given, of any
// alignment; y may be x where both have the same size. NaN and infinities do what the plain formula
// does. Inputs too small to be worth waking other threads for run on the calling one; the bits are
// the same either way.
namespace omnirt::cpu {

// y = act(x).
void activate(const float* x, int64_t count, Activation activation, float* y);
// y = (x + other) * scale.
void add(const float* x, const float* other, int64_t count, float scale, float* y);
// y = x * scale + shift.
void affine(const float* x, int64_t count, float scale, float shift, float* y);
// y = tanh(x / bound) * bound.
void soft_clamp(const float* x, int64_t count, float bound, float* y);

// y[r][i] = x[r][i] * gelu(x[r][width + i]): x {rows, 2 width} with rows x_stride apart, y {rows,
// width} (Shazeer 2020, arXiv 2002.05202). y must not overlap x.
void geglu(const float* x, int64_t rows, int64_t width, int64_t x_stride, float* y);

// y[r][i] = silu(x[r][i]) * x[r][width + i], laid out as geglu's: the first half is the gate.
void swiglu(const float* x, int64_t rows, int64_t width, int64_t x_stride, float* y);
// y = x * other.
void multiply(const float* x, const float* other, int64_t count, float* y);

// {batch, pixels, channels}: channels-last images, or tokens.
struct PixelShape {
  int64_t batch, pixels, channels;
};

// y = x * (1 + scale[b][c]) + shift[b][c]; samples of scale and shift are terms_stride apart.
void modulate(const PixelShape& shape, const float* x, const float* scale, const float* shift,
              int64_t terms_stride, float* y);

// y = x * factor[b][c] + residual; samples of factor are terms_stride apart, residual (as x) may be
// null.
void gate(const PixelShape& shape, const float* x, const float* factor, int64_t terms_stride,
          const float* residual, float* y);

// Rows of `first` and `second` joined: y {rows, first_width + second_width}. Channels-last: rows
// are pixels and widths channels; planar: rows are samples and widths whole images.
void concat_rows(int64_t rows, const float* first, int64_t first_width, const float* second,
                 int64_t second_width, float* y);

// {batch, height, width, channels}. Planar images: {batch * channels, height, width, 1}.
struct ImageShape {
  int64_t batch, height, width, channels;
};

// Nearest-neighbour resize to {height, width}: source index floor(i * (in / out)) in single
// precision, as in torch's "nearest".
void upsample_nearest(const ImageShape& shape, const float* x, int64_t height, int64_t width,
                      float* y);
// Mean over windows of size x size, side by side; what is left over at the right and at the bottom
// is dropped.
void avg_pool(const ImageShape& shape, const float* x, int64_t size, float* y);

}  // namespace omnirt::cpu
