#include "io/ggml_widen.hpp"

#include <array>

#include "io/small_float.hpp"

namespace omnirt::io {
namespace {

// Blocks of 32: the first half in the low four bits, the second in the high ones.
int nibble(const std::byte* quants, size_t i) {
  auto both = static_cast<unsigned>(quants[i % 16]);
  return static_cast<int>(i < 16 ? both & 15U : both >> 4);
}

// Twice the values of a number of 4 bits (E2M1).
constexpr std::array<int8_t, 16> twice_e2m1{0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

constexpr std::array<uint8_t, 5> powers_of_3{1, 3, 9, 27, 81};

// Half of 2^(e - 127).
float half_of_e8m0(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000U << e : static_cast<uint32_t>(e - 1) << 23);
}

// Half of an E4M3 number; its sign does not count, and 0 and the one NaN are 0.
float half_of_e4m3(uint8_t bits) {
  if (bits == 0 || bits == 0x7F) return 0;
  return widen_float(bits & 0x7FU, 4, 3, false) * 0.5F;
}

}  // namespace

void widen_q4_0(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 32; ++i) to[i] = d * static_cast<float>(nibble(block + 2, i) - 8);
}

void widen_q4_1(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block)), m = widen_f16(load_as<uint16_t>(block + 2));
  for (size_t i = 0; i < 32; ++i) to[i] = d * static_cast<float>(nibble(block + 4, i)) + m;
}

void widen_q5_0(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  const auto high = load_as<uint32_t>(block + 2);
  for (size_t i = 0; i < 32; ++i) {
    int q = nibble(block + 6, i) | static_cast<int>(high >> i & 1U) << 4;
    to[i] = d * static_cast<float>(q - 16);
  }
}

void widen_q5_1(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block)), m = widen_f16(load_as<uint16_t>(block + 2));
  const auto high = load_as<uint32_t>(block + 4);
  for (size_t i = 0; i < 32; ++i) {
    int q = nibble(block + 8, i) | static_cast<int>(high >> i & 1U) << 4;
    to[i] = d * static_cast<float>(q) + m;
  }
}

void widen_q8_0(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 32; ++i) to[i] = static_cast<float>(load_as<int8_t>(block + 2 + i)) * d;
}

void widen_q1_0(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 128; ++i)
    to[i] = static_cast<unsigned>(block[2 + i / 8]) >> i % 8 & 1U ? d : -d;
}

// Five digits of base 3 per byte, the first the highest: multiplied by a power of 3, a byte has the
// digit wanted as the first of a fraction of 256.
void widen_tq1_0(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block + 52));
  auto digit = [&](size_t byte, size_t place) {
    auto turned = static_cast<uint8_t>(static_cast<unsigned>(block[byte]) * powers_of_3[place]);
    return static_cast<float>(static_cast<int>(turned * 3U >> 8) - 1);
  };
  for (size_t i = 0; i < 160; ++i) to[i] = d * digit(i % 32, i / 32);
  for (size_t i = 0; i < 80; ++i) to[160 + i] = d * digit(32 + i % 16, i / 16);
  for (size_t i = 0; i < 16; ++i) to[240 + i] = d * digit(48 + i % 4, i / 4);
}

void widen_tq2_0(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block + 64));
  for (size_t i = 0; i < 256; ++i) {
    unsigned four = static_cast<unsigned>(block[i / 128 * 32 + i % 32]);
    to[i] = d * static_cast<float>(static_cast<int>(four >> i % 128 / 32 * 2 & 3U) - 1);
  }
}

void widen_mxfp4(const std::byte* block, float* to) {
  const float d = half_of_e8m0(load_as<uint8_t>(block));
  for (size_t i = 0; i < 32; ++i)
    to[i] = d * static_cast<float>(twice_e2m1[static_cast<size_t>(nibble(block + 1, i))]);
}

void widen_nvfp4(const std::byte* block, float* to) {
  for (size_t i = 0; i < 64; ++i) {
    const float d = half_of_e4m3(load_as<uint8_t>(block + i / 16));
    auto both = static_cast<unsigned>(block[4 + i / 16 * 8 + i % 8]);
    to[i] = d * static_cast<float>(twice_e2m1[i % 16 < 8 ? both & 15U : both >> 4]);
  }
}

}  // namespace omnirt::io
