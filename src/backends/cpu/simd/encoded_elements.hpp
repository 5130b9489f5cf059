#pragma once
#include <cstddef>

#include "io/dtype.hpp"
#include "io/encoding.hpp"

namespace omnirt::cpu {

// Panels are widened from one whole unit to another: encodings of longer units would be widened
// more than once.
constexpr size_t most_encoded_unit = 256;

// A matrix's or a filter's elements, one after the other, as a file holds them where that is not
// fp32, fp16 or bf16. Kernels widen what they read of them, a stretch of a row at a time. Has what
// it points to no longer than its maker.
class EncodedElements {
 public:
  // `data` is the bytes of the encoding's elements from `first` on.
  EncodedElements(const io::Encoding& encoding, const std::byte* data, size_t first);
  // fp8 without scales.
  EncodedElements(io::Dtype dtype, const std::byte* data);

  static bool takes(const io::Encoding& encoding) { return encoding.unit() <= most_encoded_unit; }
  static bool takes(io::Dtype dtype) {
    return dtype == io::Dtype::f8_e4m3 || dtype == io::Dtype::f8_e5m2;
  }

  // Elements are widened in multiples of this many, from a multiple of it on.
  size_t unit() const { return unit_; }
  // Widens the units that hold elements [from, from + count) into `to`, which has room for count +
  // 2 unit() floats; returns where element `from` is.
  const float* read(size_t from, size_t count, float* to) const;

 private:
  const std::byte* data_;
  const io::Encoding* encoding_ = nullptr;
  size_t first_ = 0;
  size_t unit_ = 1, unit_bytes_ = 1;
  // Widens this many units, by SIMD; null: the encoding does.
  void (*widen_)(const std::byte* units, size_t count, float* to) = nullptr;
};

}  // namespace omnirt::cpu
