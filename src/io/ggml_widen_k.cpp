#include <array>

#include "io/ggml_widen.hpp"
#include "io/small_float.hpp"

// Blocks of 256 elements in groups that have small scales (and minimums) below those of the block.
namespace omnirt::io {
namespace {

// 32 bytes hold 128 elements of 2 bits, each byte those that are 32 apart.
unsigned two_bits(const std::byte* quants, size_t i) {
  return byte_at(quants, i / 128 * 32 + i % 32) >> i % 128 / 32 * 2 & 3U;
}

// Eight scales and eight minimums of 6 bits in 12 bytes: the first four of each in the low bits of
// 8 bytes, whose high bits complete the last four in the other 4 bytes.
struct SmallScale {
  float scale, minimum;
};
SmallScale small_scale(const std::byte* packed, size_t group) {
  if (group < 4) {
    return {static_cast<float>(byte_at(packed, group) & 63U),
            static_cast<float>(byte_at(packed, 4 + group) & 63U)};
  }
  size_t i = group - 4;
  unsigned rest = byte_at(packed, 8 + i);
  return {static_cast<float>((rest & 15U) | (byte_at(packed, i) >> 2 & 48U)),
          static_cast<float>(rest >> 4 | (byte_at(packed, 4 + i) >> 2 & 48U))};
}

// 32 bytes hold 64 elements of 4 bits, the low bits the first 32.
unsigned four_bits(const std::byte* quants, size_t i) {
  return byte_at(quants, i / 64 * 32 + i % 32) >> i % 64 / 32 * 4 & 15U;
}

}  // namespace

void widen_q2_k(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block + 80));
  const float dmin = widen_f16(load_as<uint16_t>(block + 82));
  for (size_t i = 0; i < 256; ++i) {
    unsigned both = byte_at(block, i / 16);
    const float scale = d * static_cast<float>(both & 15U);
    const float minimum = dmin * static_cast<float>(both >> 4);
    to[i] = scale * static_cast<float>(two_bits(block + 16, i)) - minimum;
  }
}

void widen_q3_k(const std::byte* block, float* to) {
  const std::byte *mask = block, *quants = block + 32, *scales = block + 96;
  const float d = widen_f16(load_as<uint16_t>(block + 108));
  std::array<float, 16> scaled;
  for (size_t i = 0; i < 16; ++i) {
    unsigned low = byte_at(scales, i % 8) >> i / 8 * 4 & 15U;
    unsigned high = byte_at(scales, 8 + i % 4) >> i / 4 * 2 & 3U;
    scaled[i] = d * static_cast<float>(static_cast<int>(low | high << 4) - 32);
  }
  for (size_t i = 0; i < 256; ++i) {
    bool high = byte_at(mask, i % 32) >> i / 32 & 1U;
    int q = static_cast<int>(two_bits(quants, i)) - (high ? 0 : 4);
    to[i] = scaled[i / 16] * static_cast<float>(q);
  }
}

void widen_q4_k(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  const float dmin = widen_f16(load_as<uint16_t>(block + 2));
  for (size_t group = 0; group < 8; ++group) {
    SmallScale small = small_scale(block + 4, group);
    const float scale = d * small.scale, minimum = dmin * small.minimum;
    for (size_t i = group * 32; i < group * 32 + 32; ++i)
      to[i] = scale * static_cast<float>(four_bits(block + 16, i)) - minimum;
  }
}

void widen_q5_k(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  const float dmin = widen_f16(load_as<uint16_t>(block + 2));
  for (size_t group = 0; group < 8; ++group) {
    SmallScale small = small_scale(block + 4, group);
    const float scale = d * small.scale, minimum = dmin * small.minimum;
    for (size_t i = group * 32; i < group * 32 + 32; ++i) {
      unsigned q = four_bits(block + 48, i) | (byte_at(block + 16, i % 32) >> group & 1U) << 4;
      to[i] = scale * static_cast<float>(q) - minimum;
    }
  }
}

void widen_q6_k(const std::byte* block, float* to) {
  const std::byte *low = block, *high = block + 128, *scales = block + 192;
  const float d = widen_f16(load_as<uint16_t>(block + 208));
  for (size_t i = 0; i < 256; ++i) {
    const float scale = d * static_cast<float>(load_as<int8_t>(scales + i / 16));
    unsigned q = (byte_at(low, i / 128 * 64 + i % 64) >> i % 128 / 64 * 4 & 15U) | two_bits(high, i)
                                                                                       << 4;
    to[i] = scale * static_cast<float>(static_cast<int>(q) - 32);
  }
}

}  // namespace omnirt::io
