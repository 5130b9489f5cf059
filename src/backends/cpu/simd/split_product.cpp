#include "backends/cpu/simd/split_product.hpp"

#include <array>
#include <new>
#include <vector>

#include "backends/cpu/simd/amx.hpp"
#include "backends/cpu/simd/bf16_product.hpp"
#include "backends/cpu/simd/integers.hpp"
#include "backends/cpu/simd/split_run.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

constexpr std::align_val_t alignment{64};

SplitJob weights_job(const SplitKernels& kernels, const SplitSource& source,
                     const WeightView& weight, const int64_t* taps, int64_t tap_count, bool geglu) {
  return {.kernels = kernels,
          .source = source,
          .taps = taps,
          .tap_count = tap_count,
          .channels = weight.columns / tap_count,
          .n = geglu ? weight.rows / 2 : weight.rows,
          .weight = weight,
          .geglu = geglu};
}

// For jobs that only pack.
class NoRows final : public SplitSource {
 public:
  void read(int64_t, int64_t, int64_t, SplitInput*) const override {}
  void targets(int64_t, int64_t, SplitTarget*) const override {}
};

SplitJob packing_job(const SplitKernels& kernels, const WeightView& weight, int64_t taps,
                     bool geglu) {
  static const NoRows none;
  return weights_job(kernels, none, weight, nullptr, taps, geglu);
}

const uint16_t* panels_of(const PackedSplit* packed, const WeightView& weight, int64_t taps,
                          bool geglu, size_t parts) {
  if (!packed) return nullptr;
  ensure(packed->is_of(weight.rows, weight.columns, taps, geglu, parts),
         "a product by weights {}x{} was given what was made of others", weight.rows,
         weight.columns);
  return packed->data();
}

class Rows final : public SplitSource {
 public:
  explicit Rows(const GemmArgs& args) : args_(args) {}

  void read(int64_t, int64_t row, int64_t count, SplitInput* in) const override {
    for (int64_t i = 0; i < count; ++i) in[i].x = args_.x + (row + i) * args_.x_stride;
  }

  void targets(int64_t row, int64_t count, SplitTarget* targets) const override {
    const Epilogue& e = args_.epilogue;
    for (int64_t r = row; r < row + count; ++r) {
      *targets++ = {args_.y + r * args_.y_stride,
                    e.residual ? e.residual + r * e.residual_stride : nullptr,
                    e.row_bias ? e.row_bias + r / e.rows_per_bias * e.row_bias_stride : nullptr};
    }
  }

 private:
  const GemmArgs& args_;
};

// The place in x of each upsampled row (or column).
std::vector<int64_t> places(int64_t size, int64_t up_size) {
  std::vector<int64_t> result(static_cast<size_t>(up_size > 0 ? up_size : size));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = source_index(static_cast<int64_t>(i), size, up_size);
  return result;
}

// The pixel at a place of x.
SplitInput pixel_input(const ConvInput& x, int64_t sample, int64_t row, int64_t column) {
  SplitInput in{};
  in.x = x.data + sample * x.strides.batch + row * x.strides.row + column * x.strides.pixel;
  in.scale = x.scale ? x.scale + sample * x.scale_stride : nullptr;
  in.shift = x.shift ? x.shift + sample * x.scale_stride : nullptr;
  in.silu = x.activation == Activation::silu;
  return in;
}

// What each tap sees under each output pixel, for strides and paddings that Pixels does not have.
class Windows final : public SplitSource {
 public:
  explicit Windows(const SplitConv& conv)
      : conv_(conv),
        height_(outputs(conv.shape.conv_height() + conv.shape.top + conv.shape.bottom)),
        width_(outputs(conv.shape.conv_width() + conv.shape.left + conv.shape.right)) {}

  int64_t count() const { return conv_.shape.batch * height_ * width_; }

  void read(int64_t tap, int64_t row, int64_t count, SplitInput* in) const override {
    const WinogradShape& shape = conv_.shape;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t line = (row + i) / width_;
      const int64_t top = line % height_ * conv_.stride - shape.top;
      const int64_t left = (row + i) % width_ * conv_.stride - shape.left;
      const int64_t y = source_index(top + tap / conv_.kernel, shape.in_height, shape.up_height);
      const int64_t x = source_index(left + tap % conv_.kernel, shape.in_width, shape.up_width);
      in[i] = y < 0 || x < 0 ? SplitInput{} : pixel_input(conv_.x, line / height_, y, x);
    }
  }

  void targets(int64_t row, int64_t count, SplitTarget* targets) const override {
    const ConvEpilogue& e = conv_.epilogue;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t line = (row + i) / width_, sample = line / height_;
      const auto at = [&](const ConvStrides& strides) {
        return sample * strides.batch + line % height_ * strides.row +
               (row + i) % width_ * strides.pixel;
      };
      targets[i] = {conv_.y + at(conv_.y_strides),
                    e.residual ? e.residual + at(e.residual_strides) : nullptr,
                    e.sample_bias ? e.sample_bias + sample * e.sample_bias_stride : nullptr};
    }
  }

 private:
  int64_t outputs(int64_t size) const { return (size - conv_.kernel) / conv_.stride + 1; }

  const SplitConv& conv_;
  const int64_t height_, width_;
};

// The pixels of all samples in one row of rows: each line of an image is followed by a zero, each
// image by a line of zeros, and one line and one zero come before all. So the zero right of a line
// is the one left of the next, and a window's nine pixels are at the same distances everywhere.
class Pixels final : public SplitSource {
 public:
  explicit Pixels(const SplitConv& conv)
      : conv_(conv),
        around_(conv.kernel / 2),
        height_(conv.shape.conv_height()),
        width_(conv.shape.conv_width()),
        rows_(places(conv.shape.in_height, conv.shape.up_height)),
        columns_(places(conv.shape.in_width, conv.shape.up_width)) {}

  int64_t pitch() const { return width_ + around_; }
  // Up to the last pixel of the last image.
  int64_t count() const {
    return (conv_.shape.batch * (height_ + around_) - around_) * pitch() - around_;
  }

  void read(int64_t, int64_t row, int64_t count, SplitInput* in) const override {
    // The row above the first image, and the zero left of its first pixel, come before it.
    Place place = place_of(row - around_ * (pitch() + 1));
    for (int64_t i = 0; i < count; ++i, next(place)) {
      in[i] = {};
      if (!holds(place)) continue;
      in[i] = pixel_input(conv_.x, place.sample, rows_[static_cast<size_t>(place.row)],
                          columns_[static_cast<size_t>(place.column)]);
    }
  }

  void targets(int64_t row, int64_t count, SplitTarget* targets) const override {
    const ConvEpilogue& e = conv_.epilogue;
    Place place = place_of(row);
    for (int64_t i = 0; i < count; ++i, next(place)) {
      targets[i] = {};
      if (!holds(place)) continue;
      targets[i] = {conv_.y + at(conv_.y_strides, place),
                    e.residual ? e.residual + at(e.residual_strides, place) : nullptr,
                    e.sample_bias ? e.sample_bias + place.sample * e.sample_bias_stride : nullptr};
    }
  }

 private:
  // A column of width_ and a row of height_ are the zeros after a line and an image.
  struct Place {
    int64_t sample, row, column;
  };

  // Of the index counted from the first pixel; negative rows are above it.
  Place place_of(int64_t index) const {
    const int64_t above = index < 0 ? (pitch() - 1 - index) / pitch() : 0;
    const int64_t line = above > 0 ? -above : index / pitch(), lines = height_ + around_;
    const int64_t sample = above > 0 ? 0 : line / lines;
    return {sample, line - sample * lines, index - line * pitch()};
  }
  void next(Place& place) const {
    if (++place.column < pitch()) return;
    place.column = 0;
    if (++place.row < height_ + around_) return;
    place.row = 0;
    ++place.sample;
  }
  bool holds(const Place& place) const {
    return place.row >= 0 && place.row < height_ && place.column < width_ &&
           place.sample < conv_.shape.batch;
  }

  static int64_t at(const ConvStrides& strides, const Place& place) {
    return place.sample * strides.batch + place.row * strides.row + place.column * strides.pixel;
  }

  const SplitConv& conv_;
  const int64_t around_, height_, width_;
  const std::vector<int64_t> rows_, columns_;
};

// Whether the windows of neighbouring pixels are the same rows, moved.
bool is_plain(const SplitConv& conv) {
  const WinogradShape& shape = conv.shape;
  const int64_t around = conv.kernel / 2;
  return (conv.kernel == 1 || conv.kernel == 3) && conv.stride == 1 && shape.left == around &&
         shape.right == around && shape.top == around && shape.bottom == around;
}

void check(const SplitKernels& kernels, const SplitConv& conv) {
  const WinogradShape& shape = conv.shape;
  const bool gathered = kernels.parts == 1 && conv.kernel >= 1 && conv.kernel <= 3 &&
                        conv.stride >= 1 &&
                        shape.conv_height() + shape.top + shape.bottom >= conv.kernel &&
                        shape.conv_width() + shape.left + shape.right >= conv.kernel;
  ensure(is_plain(conv) || gathered,
         "a convolution of {0}x{0} by {1} parts with stride {2} and padding {3}, {4}, {5}, {6}",
         conv.kernel, kernels.parts, conv.stride, shape.left, shape.right, shape.top, shape.bottom);
  ensure((conv.x.scale != nullptr) == (conv.x.shift != nullptr) &&
             (conv.x.activation == Activation::none ||
              (conv.x.activation == Activation::silu && conv.x.scale)),
         "a convolution reads its input through scale and shift, with silu or nothing");
}

}  // namespace

bool split_available() {
  return amx_features().bf16;
}

bool rounded_available() {
  return amx_features().bf16 || bf16_available();
}

void PackedSplit::Free::operator()(uint16_t* memory) const {
  ::operator delete(memory, alignment);
}

size_t packed_split_bytes(int64_t rows, int64_t columns, int64_t taps, bool geglu, size_t parts) {
  SplitKernels kernels{};
  kernels.parts = parts;
  const SplitJob job =
      packing_job(kernels, {nullptr, WeightType::f32, rows, columns, 0}, taps, geglu);
  return job.values(job.panels(), job.steps()) * sizeof(uint16_t);
}

PackedSplit::PackedSplit(const WeightView& weight, int64_t taps, bool geglu, size_t parts)
    : rows_(weight.rows), columns_(weight.columns), taps_(taps), geglu_(geglu), parts_(parts) {
  const size_t bytes = packed_split_bytes(rows_, columns_, taps, geglu, parts);
  data_.reset(static_cast<uint16_t*>(::operator new(bytes, alignment)));
  const SplitKernels kernels = parts == 1 ? rounded_kernels(false) : split_kernels(false);
  pack_all_panels(packing_job(kernels, weight, taps, geglu), data_.get());
}

void gemm_split(const SplitKernels& kernels, const GemmArgs& args, const WeightView& weight,
                const PackedSplit* packed) {
  const bool geglu = args.epilogue.geglu;
  ensure(weight.rows == (geglu ? 2 : 1) * args.n && weight.columns == args.k,
         "weights {}x{} for a product of {} by {}", weight.rows, weight.columns, args.n, args.k);
  const Rows rows(args);
  const int64_t tap = 0;
  SplitJob job = weights_job(kernels, rows, weight, &tap, 1, geglu);
  job.rows = args.m;
  job.bias = args.epilogue.bias;
  job.activation = args.epilogue.activation;
  job.packed = panels_of(packed, weight, 1, geglu, kernels.parts);
  run_split(job);
}

void conv_split(const SplitKernels& kernels, const SplitConv& conv) {
  check(kernels, conv);
  const Pixels pixels(conv);
  const Windows windows(conv);
  const bool plain = is_plain(conv);
  std::array<int64_t, 9> taps{};
  const int64_t count = conv.kernel * conv.kernel;
  for (int64_t tap = 0; tap < count; ++tap)
    taps[static_cast<size_t>(tap)] = tap / conv.kernel * pixels.pitch() + tap % conv.kernel;
  const WeightView weight{conv.weights.data,
                          conv.weights.type,
                          conv.shape.out_channels,
                          conv.shape.in_channels * count,
                          0,
                          conv.weights.encoded};
  const SplitSource& source =
      plain ? static_cast<const SplitSource&>(pixels) : static_cast<const SplitSource&>(windows);
  SplitJob job = weights_job(kernels, source, weight, taps.data(), count, false);
  job.rows = plain ? pixels.count() : windows.count();
  job.gathered = !plain;
  job.bias = conv.epilogue.bias;
  job.activation = conv.epilogue.activation;
  job.packed = panels_of(conv.packed, weight, count, false, kernels.parts);
  run_split(job);
}

void gemm_split(const GemmArgs& args, const WeightView& weight, const PackedSplit* packed) {
  gemm_split(split_kernels(true), args, weight, packed);
}

void gemm_rounded(const GemmArgs& args, const WeightView& weight, const PackedSplit* packed) {
  gemm_split(rounded_kernels(true), args, weight, packed);
}

void conv_split(const SplitConv& conv) {
  conv_split(split_kernels(true), conv);
}

void conv_rounded(const SplitConv& conv) {
  conv_split(rounded_kernels(true), conv);
}

}  // namespace omnirt::cpu
