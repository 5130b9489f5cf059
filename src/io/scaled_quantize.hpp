#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/dtype.hpp"

// Matrices written as ComfyUI's readers and fold_scales take them: small numbers, their scale, and
// a text that names the format (github Comfy-Org/ComfyUI, QUANTIZATION.md).
namespace omnirt::io {

enum class ScaledFormat {
  fp8,           // float8_e4m3fn, one scale: the largest number becomes 448
  int8_convrot,  // int8_tensorwise, groups of a row rotated (arXiv 2512.03673), a scale per row:
                 // the largest number of a row becomes 127
};

inline constexpr std::string_view scaled_format_names = "fp8, int8_convrot";
// By the name of convert's --quantize; nullopt: none of them.
std::optional<ScaledFormat> find_scaled_format(std::string_view name);

// A matrix in the file: numbers {rows, columns}, scales {} or {rows, 1}, and the settings, JSON.
struct ScaledMatrix {
  Dtype dtype = Dtype::i8;
  std::vector<std::byte> numbers;
  std::vector<float> scales;
  std::vector<int64_t> scale_shape;
};

// The settings of a matrix with rows of `columns`. Rows that no group of 256, 64 or 16 divides are
// not rotated.
std::string scaled_settings(ScaledFormat format, int64_t columns);
// Rounds `numbers` {rows, columns}, which it changes; to the nearest, of two the even one.
ScaledMatrix quantize_scaled(ScaledFormat format, int64_t columns, std::span<float> numbers);

}  // namespace omnirt::io
