#include "serve/base64.hpp"

#include <array>
#include <cstdint>

namespace omnirt::serve {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> values_of_digits() {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (size_t i = 0; i < digits.size(); ++i)
    values[static_cast<uint8_t>(digits[i])] = static_cast<int8_t>(i);
  return values;
}

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t held = std::min<size_t>(bytes.size() - i, 3);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < held ? static_cast<uint8_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) text += j <= held ? digits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  static constexpr std::array<int8_t, 256> values = values_of_digits();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  size_t held = 0, padding = 0;
  for (char each : text) {
    if (each == '\n' || each == '\r') continue;
    if (each == '=') {
      if (++padding > 2) return std::nullopt;
      continue;
    }
    const int8_t value = values[static_cast<uint8_t>(each)];
    if (value < 0 || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (++held % 4 == 0) {
      for (int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 255);
      bits = 0;
    }
  }
  const size_t rest = held % 4;
  if (rest == 1 || (padding > 0 && rest + padding != 4)) return std::nullopt;
  if (rest == 2) {
    if (bits & 15) return std::nullopt;
    bytes += static_cast<char>(bits >> 4);
  }
  if (rest == 3) {
    if (bits & 3) return std::nullopt;
    bytes += static_cast<char>(bits >> 10 & 255);
    bytes += static_cast<char>(bits >> 2 & 255);
  }
  return bytes;
}

}  // namespace omnirt::serve
