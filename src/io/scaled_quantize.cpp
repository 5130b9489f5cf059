#include "io/scaled_quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ensure.hpp"
#include "io/scaled_encoding.hpp"
#include "io/small_float.hpp"

namespace omnirt::io {
namespace {

constexpr float most_f8 = 448;
constexpr float most_int8 = 127;

float largest(std::span<const float> numbers) {
  float most = 0;
  for (float number : numbers) most = std::max(most, std::abs(number));
  return most;
}

// A matrix of zeros has a scale too, which changes nothing.
float scale_of(float most, float to) {
  return most > 0 ? most / to : 1.0F;
}

// The same rule as the runtime's own int8 has (backends/cpu/simd/int8.hpp).
int64_t group_of(int64_t columns) {
  for (int64_t group : {256, 64, 16}) {
    if (columns % group == 0) return group;
  }
  return 0;
}

ScaledMatrix to_fp8(std::span<const float> numbers) {
  const float scale = scale_of(largest(numbers), most_f8);
  ScaledMatrix made{Dtype::f8_e4m3, std::vector<std::byte>(numbers.size()), {scale}, {}};
  std::ranges::transform(numbers, made.numbers.begin(), [scale](float number) {
    return static_cast<std::byte>(narrow_f8_e4m3(number / scale));
  });
  return made;
}

ScaledMatrix to_int8(size_t columns, std::span<float> numbers) {
  const size_t rows = numbers.size() / columns;
  const auto group = static_cast<size_t>(group_of(static_cast<int64_t>(columns)));
  ScaledMatrix made{Dtype::i8,
                    std::vector<std::byte>(numbers.size()),
                    std::vector<float>(rows),
                    {static_cast<int64_t>(rows), 1}};
  for (size_t row = 0; row < rows; ++row) {
    auto values = numbers.subspan(row * columns, columns);
    for (size_t at = 0; group > 0 && at < columns; at += group)
      rotate_group(values.subspan(at, group));
    const float scale = made.scales[row] = scale_of(largest(values), most_int8);
    std::ranges::transform(
        values, made.numbers.begin() + static_cast<std::ptrdiff_t>(row * columns),
        [scale](float number) {
          return static_cast<std::byte>(static_cast<int8_t>(std::nearbyint(number / scale)));
        });
  }
  return made;
}

}  // namespace

std::optional<ScaledFormat> find_scaled_format(std::string_view name) {
  if (name == "fp8") return ScaledFormat::fp8;
  if (name == "int8_convrot") return ScaledFormat::int8_convrot;
  return std::nullopt;
}

std::string scaled_settings(ScaledFormat format, int64_t columns) {
  if (format == ScaledFormat::fp8) return R"({"format": "float8_e4m3fn"})";
  const int64_t group = group_of(columns);
  if (group == 0) return R"({"format": "int8_tensorwise"})";
  return fmt::format(R"({{"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": {}}})",
                     group);
}

ScaledMatrix quantize_scaled(ScaledFormat format, int64_t columns, std::span<float> numbers) {
  ensure(columns > 0 && numbers.size() % static_cast<size_t>(columns) == 0,
         "{} numbers in rows of {}", numbers.size(), columns);
  return format == ScaledFormat::fp8 ? to_fp8(numbers)
                                     : to_int8(static_cast<size_t>(columns), numbers);
}

}  // namespace omnirt::io
