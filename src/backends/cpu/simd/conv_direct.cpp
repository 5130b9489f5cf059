#include "backends/cpu/simd/conv_direct.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/simd/gemm_product.hpp"
#include "backends/cpu/simd/integers.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

// The place of each padded, upsampled row (or column) in x; -1 in the padding.
std::vector<int64_t> source_places(int64_t size, int64_t up_size, int64_t before, int64_t after) {
  const int64_t middle = up_size > 0 ? up_size : size;
  std::vector<int64_t> places(static_cast<size_t>(before + middle + after));
  for (size_t i = 0; i < places.size(); ++i)
    places[i] = source_index(static_cast<int64_t>(i) - before, size, up_size);
  return places;
}

// Gathers patches out of an image, for the product of conv_direct.
class Patches {
 public:
  explicit Patches(const DirectConvArgs& args)
      : args_(args),
        shape_(args.shape),
        rows_(source_places(shape_.in_height, shape_.up_height, shape_.padding[2],
                            shape_.padding[3])),
        columns_(source_places(shape_.in_width, shape_.up_width, shape_.padding[0],
                               shape_.padding[1])) {}

  PatchSource source() const {
    return {[](const void* self, int64_t row, int64_t rows, int64_t first, int64_t count,
               float* out, int64_t out_stride) {
              static_cast<const Patches*>(self)->gather(row, rows, first, count, out, out_stride);
            },
            this};
  }

 private:
  void gather(int64_t row, int64_t rows, int64_t first, int64_t count, float* out,
              int64_t out_stride) const {
    const int64_t width = shape_.out_width(), height = shape_.out_height();
    for (int64_t r = row; r < row + rows; ++r, out += out_stride) {
      const int64_t line = r / width;
      patch(line / height, line % height * shape_.stride, r % width * shape_.stride, first, count,
            out);
    }
  }

  // The window whose first row and column, in the padded image, are `top` and `left`.
  void patch(int64_t sample, int64_t top, int64_t left, int64_t first, int64_t count,
             float* out) const {
    const size_t bytes = static_cast<size_t>(count) * sizeof(float);
    for (int64_t h = top; h < top + shape_.kernel_height; ++h) {
      const int64_t y = rows_[static_cast<size_t>(h)];
      const int64_t line = (sample * shape_.in_height + y) * shape_.in_width;
      for (int64_t w = left; w < left + shape_.kernel_width; ++w, out += count) {
        const int64_t x = columns_[static_cast<size_t>(w)];
        if (y < 0 || x < 0) {
          std::memset(out, 0, bytes);
        } else {
          std::memcpy(out, args_.x + (line + x) * args_.x_pixel + first, bytes);
        }
      }
    }
  }

  const DirectConvArgs& args_;
  const DirectConvShape& shape_;
  const std::vector<int64_t> rows_, columns_;
};

void check(const DirectConvShape& shape) {
  ensure(shape.kernel_height >= 1 && shape.kernel_width >= 1 && shape.stride >= 1 &&
             shape.out_height() >= 0 && shape.out_width() >= 0,
         "a kernel of {}x{} with stride {} on an image of {}x{}", shape.kernel_height,
         shape.kernel_width, shape.stride, shape.conv_height(), shape.conv_width());
}

// True where every pixel of y is made from the same pixel of x.
bool is_pointwise(const DirectConvShape& shape) {
  const bool padded = shape.padding != std::array<int64_t, 4>{0, 0, 0, 0};
  return shape.taps() == 1 && shape.stride == 1 && !padded &&
         shape.conv_height() == shape.in_height && shape.conv_width() == shape.in_width;
}

// All but the weights.
Product product_of(const DirectConvArgs& args) {
  const DirectConvShape& shape = args.shape;
  const int64_t pixels = shape.out_height() * shape.out_width();
  Product product;
  product.m = shape.batch * pixels;
  product.n = shape.out_channels;
  product.inner = inner_blocks(shape.in_channels, shape.taps());
  product.x = args.x;
  product.x_stride = args.x_pixel;
  product.y = args.y;
  product.y_stride = args.y_pixel;
  product.epilogue = {args.bias,     args.sample_bias,    args.sample_bias_stride, pixels,
                      args.residual, args.residual_pixel, args.activation,         false};
  return product;
}

void run(const DirectConvArgs& args, Product& product) {
  if (product.m == 0 || product.n == 0) return;
  if (is_pointwise(args.shape)) return run_product(product);
  const Patches patches(args);
  const PatchSource source = patches.source();
  product.patches = &source;
  run_product(product);
}

WeightView rows_of(const DirectConvShape& shape, const ConvWeights& weights) {
  return {weights.data,   weights.type, shape.out_channels, shape.in_channels * shape.taps(), 0,
          weights.encoded};
}

}  // namespace

PackedMatrix pack_conv(const DirectConvShape& shape, const ConvWeights& weights) {
  return pack_rows(rows_of(shape, weights), false, shape.taps());
}

void conv_direct(const DirectConvArgs& args, const ConvWeights& weights) {
  check(args.shape);
  Product product = product_of(args);
  product.weight = rows_of(args.shape, weights);
  run(args, product);
}

void conv_direct(const DirectConvArgs& args, const PackedMatrix& weights) {
  check(args.shape);
  const int64_t columns = args.shape.in_channels * args.shape.taps();
  ensure(weights.rows() == args.shape.out_channels && weights.columns() == columns &&
             weights.taps() == args.shape.taps() && !weights.geglu(),
         "packed weights {}x{} of {} taps for a convolution of {}x{} of {} taps", weights.rows(),
         weights.columns(), weights.taps(), args.shape.out_channels, columns, args.shape.taps());
  Product product = product_of(args);
  product.packed = weights.data();
  run(args, product);
}

}  // namespace omnirt::cpu
