#include "io/scaled_encoding.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "base/ensure.hpp"
#include "io/small_float.hpp"

namespace omnirt::io {
namespace {

using Numbers = ScaledForm::Numbers;

float scale_at(const FoundTensor& tensor, Dtype type, size_t i) {
  const std::byte* data = tensor.data().data();
  switch (type) {
    case Dtype::f32:
      return load_as<float>(data + i * 4);
    case Dtype::f16:
      return widen_f16(load_as<uint16_t>(data + i * 2));
    case Dtype::bf16:
      return widen_bf16(load_as<uint16_t>(data + i * 2));
    case Dtype::f8_e4m3:
      return widen_f8_e4m3(load_as<uint8_t>(data + i));
    default: {
      // 2^(e - 127), and 0 for the lowest (github Comfy-Org/comfy-kitchen, float_utils.py).
      ensure(type == Dtype::f8_e8m0, "scales of type {}", dtype_name(type));
      return std::bit_cast<float>(uint32_t{load_as<uint8_t>(data + i)} << 23);
    }
  }
}

bool two_a_byte(Numbers numbers) {
  return numbers >= Numbers::f4_high_first;
}

// The value of a number of 8 bits or of 4.
float number_of(Numbers numbers, uint8_t bits) {
  switch (numbers) {
    case Numbers::f8_e4m3:
      return widen_f8_e4m3(bits);
    case Numbers::f8_e5m2:
      return widen_f8_e5m2(bits);
    case Numbers::int8:
      return static_cast<float>(static_cast<int8_t>(bits));
    case Numbers::uint4_low_first:
      return static_cast<float>(static_cast<int>(bits & 15U) - 8);
    default:
      return widen_f4_e2m1(bits & 15U);
  }
}

// Of all numbers.
std::array<float, 256> table_of(Numbers numbers) {
  std::array<float, 256> table;
  for (size_t bits = 0; bits < table.size(); ++bits)
    table[bits] = number_of(numbers, static_cast<uint8_t>(bits));
  return table;
}

class ScaledEncoding final : public Encoding {
 public:
  explicit ScaledEncoding(ScaledForm form)
      : form_(std::move(form)),
        columns_(static_cast<size_t>(form_.columns)),
        table_(table_of(form_.numbers)) {
    ensure(form_.rows > 0 && form_.columns > 0 && form_.block_rows > 0 && form_.block_columns > 0,
           "a scaled matrix of {} x {}", form_.rows, form_.columns);
  }
  std::string name() const override { return form_.name; }
  size_t unit() const override {
    if (form_.rotation > 0) return static_cast<size_t>(form_.rotation);
    return two_a_byte(form_.numbers) ? 2 : 1;
  }
  size_t bytes(size_t count) const override {
    return two_a_byte(form_.numbers) ? count / 2 : count;
  }

  const Int8Rows* int8_rows() const override {
    const bool plain = !form_.second_scale && !form_.zeros;
    if (form_.numbers != Numbers::int8 || form_.block_columns != form_.columns || !plain)
      return nullptr;
    std::call_once(scales_read_, [this] { read_row_scales(); });
    return &int8_rows_;
  }

  void widen(std::span<const std::byte> data, size_t first, std::span<float> to) const override {
    ensure(first % unit() == 0 && to.size() % unit() == 0 && data.size() == bytes(to.size()) &&
               first + to.size() <= columns_ * static_cast<size_t>(form_.rows),
           "{} elements from {} on in {} bytes of {} x {}", to.size(), first, data.size(),
           form_.rows, form_.columns);
    for (size_t at = 0; at < to.size();) {
      const size_t column = (first + at) % columns_,
                   count = std::min(columns_ - column, to.size() - at);
      widen_part(data.data() + bytes(at), (first + at) / columns_, column, to.subspan(at, count));
      at += count;
    }
    if (form_.rotation == 0) return;
    for (size_t at = 0; at < to.size(); at += unit()) rotate_group(to.subspan(at, unit()));
  }

 private:
  void read_row_scales() const {
    int8_rows_ = {form_.columns, form_.rotation,
                  std::vector<float>(static_cast<size_t>(form_.rows))};
    for (size_t row = 0; row < int8_rows_.scales.size(); ++row)
      int8_rows_.scales[row] = scale_at(form_.scales, form_.scale_type, place_of(row, 0));
  }

  // The elements of a row from `column` on, whose bytes `data` are.
  void widen_part(const std::byte* data, size_t row, size_t column, std::span<float> to) const {
    const auto block = static_cast<size_t>(form_.block_columns);
    for (size_t begin = 0; begin < to.size();) {
      const size_t place = place_of(row, (column + begin) / block);
      const size_t end = std::min(begin + block - (column + begin) % block, to.size());
      float scale = scale_at(form_.scales, form_.scale_type, place);
      if (form_.second_scale) scale = scale_at(*form_.second_scale, Dtype::f32, 0) * scale;
      widen_block(data, begin, end, scale, to);
      if (form_.zeros) {
        const float zero = scale_at(*form_.zeros, form_.scale_type, place);
        for (size_t k = begin; k < end; ++k) to[k] += zero;
      }
      begin = end;
    }
  }

  // Elements that share a scale.
  void widen_block(const std::byte* data, size_t begin, size_t end, float scale,
                   std::span<float> to) const {
    if (!two_a_byte(form_.numbers)) {
      for (size_t k = begin; k < end; ++k) to[k] = table_[byte_at(data, k)] * scale;
      return;
    }
    const bool high_first = form_.numbers == Numbers::f4_high_first;
    for (size_t k = begin; k < end; ++k) {
      const unsigned byte = byte_at(data, k / 2);
      to[k] = table_[(k % 2 == 0) == high_first ? byte >> 4 : byte & 15U] * scale;
    }
  }

  size_t place_of(size_t row, size_t block) const {
    const auto rows = static_cast<size_t>(form_.rows);
    const auto width = static_cast<size_t>(form_.block_columns);
    const size_t across = (columns_ + width - 1) / width;
    row /= static_cast<size_t>(form_.block_rows);
    switch (form_.order) {
      case ScaledForm::Order::columns:
        return block * rows + row;
      case ScaledForm::Order::tiles: {
        size_t tile = row / 128 * ((across + 3) / 4) + block / 4;
        return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
      }
      default:
        return row * across + block;
    }
  }

  ScaledForm form_;
  size_t columns_;
  std::array<float, 256> table_;
  // Read when they are first asked for: opening a file reads no scale.
  mutable std::once_flag scales_read_;
  mutable Int8Rows int8_rows_;
};

}  // namespace

void rotate_group(std::span<float> group) {
  for (size_t step = 1; step < group.size(); step *= 4) {
    for (size_t i = 0; i < group.size(); ++i) {
      if (i / step % 4 != 0) continue;
      float *a = &group[i], *b = a + step, *c = b + step, *d = c + step;
      const float sum = *a + *b + *c + *d;
      const std::array<float, 4> turned{sum - 2 * *d, sum - 2 * *c, sum - 2 * *b, sum - 2 * *a};
      *a = turned[0], *b = turned[1], *c = turned[2], *d = turned[3];
    }
    // The root of 4 at each step, which is exact.
    for (float& value : group) value *= 0.5F;
  }
}

std::shared_ptr<const Encoding> scaled_encoding(ScaledForm form) {
  return std::make_shared<const ScaledEncoding>(std::move(form));
}

}  // namespace omnirt::io
