#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Numbers of 4 to 16 bits as files hold them, as the fp32 number that is exactly the same.
namespace omnirt::io {

// A little-endian number at any address.
template <typename T>
T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline unsigned byte_at(const std::byte* from, size_t i) {
  return static_cast<unsigned>(from[i]);
}

// A float with `exponent_bits` and `mantissa_bits` below a sign, subnormals included. The highest
// exponent means infinity and NaN (IEEE 754) where `infinities`; else for numbers.
inline float widen_float(uint32_t bits, int exponent_bits, int mantissa_bits, bool infinities) {
  const int sign_at = exponent_bits + mantissa_bits;
  const uint32_t sign = (bits >> sign_at & 1U) << 31;
  const uint32_t exponent = bits >> mantissa_bits & ((1U << exponent_bits) - 1);
  const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (infinities && exponent == (1U << exponent_bits) - 1)
    return std::bit_cast<float>(sign | 0x7F800000U | mantissa << (23 - mantissa_bits));
  if (exponent == 0) {
    // mantissa * 2^(1 - bias - mantissa_bits), which fp32 has as a normal number.
    auto unit = std::bit_cast<float>(static_cast<uint32_t>(128 - bias - mantissa_bits) << 23);
    float value = static_cast<float>(mantissa) * unit;
    return sign ? -value : value;
  }
  uint32_t shifted = exponent + static_cast<uint32_t>(127 - bias);
  return std::bit_cast<float>(sign | shifted << 23 | mantissa << (23 - mantissa_bits));
}

inline float widen_f16(uint16_t bits) {
  return widen_float(bits, 5, 10, true);
}
inline float widen_bf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}
// "fn": no infinities, and one NaN of either sign.
inline float widen_f8_e4m3(uint8_t bits) {
  if ((bits & 0x7F) == 0x7F)
    return std::bit_cast<float>(uint32_t{bits & 0x80U} << 24 | 0x7FC00000U);
  return widen_float(bits, 4, 3, false);
}
inline float widen_f8_e5m2(uint8_t bits) {
  return widen_float(bits, 5, 2, true);
}
inline float widen_f4_e2m1(uint8_t bits) {
  return widen_float(bits, 2, 1, false);
}

// The nearest number of 16 bits, of two the even one; NaN stays NaN.
inline uint16_t narrow_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000U, size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U);
  if (size >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // 65520 and more
  if (size < 0x38800000U) {
    // Below 2^-14: the last bit is worth 2^-24. Adding 0.5 puts it into fp32's last place.
    const float rounded = std::bit_cast<float>(size) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3F000000U));
  }
  const uint32_t odd = size >> 13 & 1U;
  return static_cast<uint16_t>(sign | ((size - 0x38000000U + 0xFFFU + odd) >> 13));
}
// The same of E4M3 "fn"; what is larger than 448 becomes 448.
inline uint8_t narrow_f8_e4m3(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 24 & 0x80U, size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return static_cast<uint8_t>(sign | 0x7FU);
  if (size >= 0x43E00000U) return static_cast<uint8_t>(sign | 0x7EU);  // 448 and more
  if (size < 0x3C800000U) {
    // Below 2^-6: the last bit is worth 2^-9. Adding 2^14 puts it into fp32's last place.
    const float rounded = std::bit_cast<float>(size) + 16384.0F;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x46800000U));
  }
  const uint32_t odd = size >> 20 & 1U;
  return static_cast<uint8_t>(sign | ((size - 0x3C000000U + 0x7FFFFU + odd) >> 20));
}
inline uint16_t narrow_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>(bits >> 16 | 64U);
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace omnirt::io
