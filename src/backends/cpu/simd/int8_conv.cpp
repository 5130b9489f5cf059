#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/int8_view.hpp"
#include "backends/cpu/simd/integers.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

struct ConvTask {
  const Int8Kernels& kernels;
  const Int8ConvShape& shape;
  const ConvInput& x;
  const ConvEpilogue& epilogue;
  float* y;
  const ConvStrides& y_strides;
};

// The patch under each output pixel, taps one after another, is a row of the product.
class ConvPatches final : public Int8Source {
 public:
  // ranges: of each pixel of x, or null for a kernel of one tap.
  ConvPatches(const ConvTask& task, const Int8Range* ranges)
      : task_(task), shape_(task.shape), ranges_(ranges) {}

  Int8Row quantize(int64_t row, uint8_t* bytes, float*) const override {
    const int64_t columns = shape_.out_width(), rows = shape_.out_height();
    const Place place{row / (rows * columns), row / columns % rows, row % columns};
    const Int8Scale scale = int8_scale(range_of(place));
    const size_t channels = static_cast<size_t>(shape_.in_channels);
    each_tap(place, [&](int64_t y, int64_t x) {
      if (scale.inverse == 0.0f || y < 0 || x < 0)
        std::memset(bytes, scale.zero, channels);
      else
        task_.kernels.quantize(pixel(place.sample, y, x), channels, scale.inverse, scale.zero,
                               bytes);
      bytes += channels;
    });
    const ConvEpilogue& e = task_.epilogue;
    return {scale.scale, scale.zero, task_.y + at(task_.y_strides, place),
            e.residual ? e.residual + at(e.residual_strides, place) : nullptr,
            e.sample_bias ? e.sample_bias + place.sample * e.sample_bias_stride : nullptr};
  }

 private:
  struct Place {
    int64_t sample, row, column;
  };

  static int64_t at(const ConvStrides& strides, const Place& place) {
    return place.sample * strides.batch + place.row * strides.row + place.column * strides.pixel;
  }

  const float* pixel(int64_t sample, int64_t y, int64_t x) const {
    return task_.x.data + at(task_.x.strides, {sample, y, x});
  }

  // Calls body with the place in x of each tap; -1 in the padding.
  template <class Body>
  void each_tap(const Place& place, const Body& body) const {
    for (int64_t ky = 0; ky < shape_.kernel_height; ++ky) {
      const int64_t y = source_index(place.row * shape_.stride - shape_.top + ky, shape_.in_height,
                                     shape_.up_height);
      for (int64_t kx = 0; kx < shape_.kernel_width; ++kx)
        body(y, source_index(place.column * shape_.stride - shape_.left + kx, shape_.in_width,
                             shape_.up_width));
    }
  }

  Int8Range range_of(const Place& place) const {
    Int8Range all{0.0f, 0.0f};
    each_tap(place, [&](int64_t y, int64_t x) {
      if (y < 0 || x < 0) return;
      const Int8Range one =
          ranges_ ? ranges_[(place.sample * shape_.in_height + y) * shape_.in_width + x]
                  : task_.kernels.range(pixel(place.sample, y, x),
                                        static_cast<size_t>(shape_.in_channels));
      // A NaN stays: nothing is less or more than it.
      if (one.low < all.low || std::isnan(one.low)) all.low = one.low;
      if (one.high > all.high || std::isnan(one.high)) all.high = one.high;
    });
    return all;
  }

  const ConvTask& task_;
  const Int8ConvShape& shape_;
  const Int8Range* ranges_;
};

void find_ranges(const ConvTask& task, Int8Range* ranges) {
  const Int8ConvShape& shape = task.shape;
  parallel_for(shape.batch * shape.in_height, [&](int64_t row, int) {
    const ConvStrides& strides = task.x.strides;
    const float* x =
        task.x.data + row / shape.in_height * strides.batch + row % shape.in_height * strides.row;
    for (int64_t c = 0; c < shape.in_width; ++c)
      ranges[row * shape.in_width + c] =
          task.kernels.range(x + c * strides.pixel, static_cast<size_t>(shape.in_channels));
  });
}

}  // namespace

void int8_conv(const Int8Kernels& kernels, const Int8ConvShape& shape, const ConvInput& x,
               const Int8View& view, const ConvEpilogue& epilogue, float* y,
               const ConvStrides& y_strides) {
  const int64_t taps = shape.kernel_height * shape.kernel_width;
  ensure(view.inner == shape.in_channels * taps && view.rows == shape.out_channels && !view.gated,
         "int8 convolution of {} x {} with a weight packed as {} x {}", shape.out_channels,
         shape.in_channels * taps, view.rows, view.inner);
  ensure(shape.stride > 0, "int8 convolution of stride {}", shape.stride);
  const int64_t m = shape.batch * shape.out_height() * shape.out_width();
  if (m <= 0) return;
  const ConvTask task{kernels, shape, x, epilogue, y, y_strides};
  // A kernel of one tap reads each pixel once: its range is found on the way.
  const int64_t pixels = taps > 1 ? shape.batch * shape.in_height * shape.in_width : 0;
  const size_t range_floats = (static_cast<size_t>(pixels) * 2 + 15) / 16 * 16;
  Int8Product product{kernels, m, nullptr, view, epilogue.bias, epilogue.activation};
  TeamHold hold;
  float* shared = hold.scratch(range_floats + int8_shared_floats(product));
  Int8Range* ranges = pixels > 0 ? reinterpret_cast<Int8Range*>(shared) : nullptr;
  if (ranges) find_ranges(task, ranges);
  const ConvPatches patches(task, ranges);
  product.source = &patches;
  run_int8(product, shared + range_floats);
}

void int8_conv(const Int8ConvShape& shape, const ConvInput& x, const Int8View& weight,
               const ConvEpilogue& epilogue, float* y, const ConvStrides& y_strides) {
  int8_conv(int8_kernels(), shape, x, weight, epilogue, y, y_strides);
}

}  // namespace omnirt::cpu
