#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "backends/cpu/simd/encoded_elements.hpp"
#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/int8_view.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

constexpr std::align_val_t alignment{64};

size_t round_up(size_t value, size_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

void PackedInt8::Free::operator()(int8_t* memory) const {
  ::operator delete(memory, alignment);
}

size_t PackedInt8::bytes() const {
  return static_cast<size_t>(panels_) * static_cast<size_t>(padded_inner_) * int8_panel +
         scales_.size() * sizeof(float) + sums_.size() * sizeof(int32_t);
}

int64_t Int8View::columns() const {
  return panels * static_cast<int64_t>(int8_panel);
}

size_t Int8View::panel_bytes() const {
  return static_cast<size_t>(padded_inner) * int8_panel;
}

size_t packed_int8_bytes(int64_t rows, int64_t inner, bool gated) {
  const size_t columns = static_cast<size_t>(int8_panels(rows, gated)) * int8_panel;
  return columns * (static_cast<size_t>(int8_padded(inner)) + sizeof(float) + sizeof(int32_t));
}

class Int8Packer {
 public:
  // A row of the file is [channels][taps]; of the packed form, [taps][channels].
  Int8Packer(const WeightView& weight, int64_t taps, bool gated, const std::string& name,
             int64_t group)
      : weight_(weight),
        name_(name),
        channels_(static_cast<size_t>(weight.columns / taps)),
        taps_(static_cast<size_t>(taps)),
        kernels_(int8_kernels()) {
    ensure(weight.rows > 0 && weight.columns > 0, "int8 weight of {} x {}", weight.rows,
           weight.columns);
    ensure(!gated || weight.rows % 2 == 0, "gated int8 weight of {} rows", weight.rows);
    ensure(group == 1 || (weight.columns / taps % group == 0 && int8_group(group) == group),
           "int8 weight of {} inputs rotated in groups of {}", weight.columns / taps, group);
    if (weight.columns > int8_most_inner)
      throw Unsupported(Finding{name, fmt::format("{} inputs for one output", weight.columns),
                                fmt::format("int8 sums are exact up to {}", int8_most_inner),
                                "compute this model without int8"});
    packed_ = sized(weight.rows, weight.columns, gated, group);
  }

  PackedInt8 run() {
    parallel_for(packed_.panels_, [&](int64_t panel, int thread) {
      const size_t floats = round_up(inner() + 2 * most_encoded_unit, 16), bytes = padded();
      float* row = scratch(thread, 2 * floats + bytes / 2);
      pack_panel(static_cast<size_t>(panel), {row, row + floats},
                 reinterpret_cast<int8_t*>(row + 2 * floats));
    });
    return std::move(packed_);
  }

  // The file's bytes, laid out.
  static PackedInt8 copied(const Int8Matrix& weight, bool gated) {
    PackedInt8 packed = sized(weight.rows, weight.columns, gated, weight.group);
    int8_column_scales(weight, gated, packed.scales_.data());
    const Int8View from = int8_file_view(weight, gated, packed.scales_.data());
    const Int8Kernels kernels = int8_kernels(false);
    parallel_for(packed.panels_, [&](int64_t panel, int) {
      int8_t* to = packed.data_.get() + static_cast<size_t>(panel) * from.panel_bytes();
      int32_t* sums = packed.sums_.data() + static_cast<size_t>(panel) * int8_panel;
      const auto end = static_cast<size_t>(packed.padded_inner_);
      for (size_t at = 0; at < end; at += int8_longest_slice)
        int8_lay_out_panel(kernels, from, panel, at, std::min(end, at + int8_longest_slice),
                           to + at * int8_panel, sums);
    });
    return packed;
  }

 private:
  // With memory for all, its scales and sums zero.
  static PackedInt8 sized(int64_t rows, int64_t inner, bool gated, int64_t group) {
    PackedInt8 packed;
    packed.rows_ = rows;
    packed.inner_ = inner;
    packed.gated_ = gated;
    packed.group_ = group;
    packed.padded_inner_ = int8_padded(inner);
    packed.panels_ = int8_panels(rows, gated);
    const size_t columns = static_cast<size_t>(packed.panels_) * int8_panel;
    const size_t bytes = columns * static_cast<size_t>(packed.padded_inner_);
    packed.data_.reset(static_cast<int8_t*>(::operator new(bytes, alignment)));
    packed.scales_.assign(columns, 0.0f);
    packed.sums_.assign(columns, 0);
    return packed;
  }

  // A row as in the file, and with its taps turned.
  struct RowFloats {
    float *plain, *turned;
  };

  size_t inner() const { return static_cast<size_t>(packed_.inner_); }
  size_t padded() const { return static_cast<size_t>(packed_.padded_inner_); }

  void pack_panel(size_t panel, const RowFloats& floats, int8_t* bytes) {
    int8_t* out = packed_.data_.get() + panel * padded() * int8_panel;
    const Int8PanelRows rows =
        int8_panel_rows(packed_.rows_, packed_.gated_, static_cast<int64_t>(panel));
    for (size_t n = 0; n < int8_panel; ++n) {
      std::memset(bytes, 0, padded());
      if (n < rows.count)
        round_row(static_cast<int64_t>(rows.first + n), panel * int8_panel + n, floats, bytes);
      for (size_t p = 0; p < padded(); p += 4)
        std::memcpy(out + p * int8_panel + n * 4, bytes + p, 4);
    }
  }

  void round_row(int64_t row, size_t column, const RowFloats& memory, int8_t* bytes) {
    const int64_t stride = weight_.row_stride > 0 ? weight_.row_stride : weight_.columns;
    const float* numbers = widened(static_cast<size_t>(row * stride), memory.plain);
    if (taps_ > 1 || packed_.group_ > 1) numbers = prepared(numbers, memory.turned);
    const Int8Range range = kernels_.range(numbers, inner());
    if (std::isnan(range.high)) refuse(row);
    const float most = std::max(range.high, -range.low);
    // A row whose scale would be subnormal counts as zero.
    const float scale = most > 1e-35f ? most / 127 : 0.0f;
    const float inverse = scale > 0 ? 1 / scale : 0.0f;
    kernels_.quantize_weights(numbers, inner(), inverse, bytes);
    int32_t sum = 0;
    for (size_t p = 0; p < inner(); ++p) sum += bytes[p];
    packed_.scales_[column] = scale;
    packed_.sums_[column] = sum;
  }

  // The row from element `first` on, somewhere in `floats`.
  const float* widened(size_t first, float* floats) const {
    if (weight_.type == WeightType::encoded) return weight_.encoded->read(first, inner(), floats);
    const size_t item = weight_.type == WeightType::f32 ? sizeof(float) : sizeof(uint16_t);
    kernels_.widen(static_cast<const char*>(weight_.data) + first * item, weight_.type, inner(),
                   floats);
    return floats;
  }

  // The row with its taps turned and its channels rotated.
  const float* prepared(const float* row, float* to) const {
    if (taps_ > 1) turn(row, to);
    if (packed_.group_ > 1)
      kernels_.rotate(taps_ > 1 ? to : row, inner(), static_cast<size_t>(packed_.group_), to);
    return to;
  }

  // [channels][taps] -> [taps][channels].
  void turn(const float* from, float* to) const {
    for (size_t t = 0; t < taps_; ++t)
      for (size_t c = 0; c < channels_; ++c) to[t * channels_ + c] = from[c * taps_ + t];
  }

  [[noreturn]] void refuse(int64_t row) const {
    throw InvalidFile(Finding{name_, fmt::format("output channel {} of {}", row, packed_.rows_),
                              "holds a NaN or an infinity, which int8 weights cannot",
                              "use a sound checkpoint, or compute without int8"});
  }

  WeightView weight_;
  std::string name_;
  size_t channels_, taps_;
  Int8Kernels kernels_;
  PackedInt8 packed_;
};

PackedInt8 pack_int8(const WeightView& weight, bool gated, const std::string& name, int64_t group) {
  return Int8Packer(weight, 1, gated, name, group).run();
}

PackedInt8 pack_int8(const Int8Matrix& weight, bool gated) {
  return Int8Packer::copied(weight, gated);
}

PackedInt8 pack_int8_conv(const ConvWeights& weight, int64_t out_channels, int64_t in_channels,
                          int64_t kernel_height, int64_t kernel_width, const std::string& name,
                          int64_t group) {
  const int64_t taps = kernel_height * kernel_width;
  const WeightView view{weight.data,        weight.type, out_channels,
                        in_channels * taps, 0,           weight.encoded};
  return Int8Packer(view, taps, false, name, group).run();
}

}  // namespace omnirt::cpu
