#pragma once
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/simd/encoded_elements.hpp"
#include "io/ggml_types.hpp"
#include "io/small_float.hpp"

// Elements of an encoding with drawn bytes, and the numbers that they encode.
namespace omnirt::cpu {

struct EncodedCase {
  std::string name;
  std::shared_ptr<const io::Encoding> encoding;  // null: fp8 without scales
  io::Dtype dtype = io::Dtype::f32;

  size_t unit() const { return encoding ? encoding->unit() : 1; }
  size_t bytes(size_t count) const { return encoding ? encoding->bytes(count) : count; }
};

// Rows of fp8 of which each element is multiplied by its place's scale: what no kernel knows.
class UnknownEncoding final : public io::Encoding {
 public:
  std::string name() const override { return "unknown"; }
  size_t unit() const override { return 2; }
  size_t bytes(size_t count) const override { return count; }
  void widen(std::span<const std::byte> data, size_t first, std::span<float> to) const override {
    for (size_t i = 0; i < to.size(); ++i) {
      const auto number = static_cast<int8_t>(data[i]);
      to[i] = static_cast<float>(number) * (1 + static_cast<float>((first + i) % 7) / 8);
    }
  }
};

inline std::vector<EncodedCase> encoded_cases() {
  std::vector<EncodedCase> cases;
  for (const io::GgmlType& type : io::ggml_types()) {
    if (type.widen) cases.push_back({std::string(type.name), io::ggml_encoding(type)});
  }
  cases.push_back({"e4m3", nullptr, io::Dtype::f8_e4m3});
  cases.push_back({"e5m2", nullptr, io::Dtype::f8_e5m2});
  cases.push_back({"unknown", std::make_shared<const UnknownEncoding>()});
  return cases;
}

struct EncodedNumbers {
  // `count`: a multiple of the case's unit.
  EncodedNumbers(EncodedCase c, size_t count, uint32_t seed = 1)
      : of(std::move(c)), bytes(of.bytes(count)), numbers(count) {
    std::mt19937 random(seed);
    const size_t unit = of.unit(), unit_bytes = of.bytes(unit);
    for (size_t at = 0; at < count; at += unit) {
      std::byte* here = bytes.data() + at / unit * unit_bytes;
      // Scales that are infinite or no number are left out: what is made of them is not compared.
      do {
        for (size_t i = 0; i < unit_bytes; ++i) here[i] = static_cast<std::byte>(random());
        widen_unit(here, at, unit);
      } while (!finite(at, unit));
    }
  }
  EncodedElements elements() const {
    return of.encoding ? EncodedElements(*of.encoding, bytes.data(), 0)
                       : EncodedElements(of.dtype, bytes.data());
  }

  EncodedCase of;
  std::vector<std::byte> bytes;
  std::vector<float> numbers;

 private:
  void widen_unit(const std::byte* from, size_t at, size_t unit) {
    if (of.encoding) {
      of.encoding->widen({from, of.bytes(unit)}, at, {numbers.data() + at, unit});
      return;
    }
    const auto bits = static_cast<uint8_t>(*from);
    numbers[at] =
        of.dtype == io::Dtype::f8_e4m3 ? io::widen_f8_e4m3(bits) : io::widen_f8_e5m2(bits);
  }
  // Nor are numbers so large that sums of them would be infinite.
  bool finite(size_t at, size_t unit) const {
    for (size_t i = at; i < at + unit; ++i)
      if (!(std::abs(numbers[i]) < 1e12f)) return false;
    return true;
  }
};

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace omnirt::cpu
