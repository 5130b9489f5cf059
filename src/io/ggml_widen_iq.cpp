#include <array>
#include <bit>
#include <span>

#include "io/ggml_widen.hpp"
#include "io/small_float.hpp"

// Blocks whose elements are points of a grid: tables of the points that occur most.
namespace omnirt::io {
namespace {

#include "io/ggml_grids.inc"

// The values that a grid's points are made of.
constexpr std::array<float, 4> levels_iq2{8, 25, 43, 0};
constexpr std::array<float, 8> levels_iq3_xxs{4, 12, 20, 28, 36, 44, 52, 62};
constexpr std::array<float, 8> levels_iq3_s{1, 3, 5, 7, 9, 11, 13, 15};
constexpr std::array<float, 4> levels_iq1{-1, 0, 1, 0};
constexpr float delta_iq1 = 0.125F;
constexpr std::array<int8_t, 16> levels_iq4{-127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113};

// Seven signs, and an eighth that makes their number even.
unsigned even_signs(uint32_t seven) {
  seven &= 127U;
  return seven | (static_cast<unsigned>(std::popcount(seven)) & 1U) << 7;
}

// Eight elements, a point of 2 bits each; bits of `signs` make them negative.
void put_point2(unsigned point, unsigned signs, float scale, float* to) {
  for (size_t i = 0; i < 8; ++i) {
    float value = scale * levels_iq2[point >> 2 * i & 3U];
    to[i] = signs >> i & 1U ? -value : value;
  }
}

// Four elements, a point of 3 bits each.
void put_point3(unsigned point, const std::array<float, 8>& levels, unsigned signs, float scale,
                float* to) {
  for (size_t i = 0; i < 4; ++i) {
    float value = scale * levels[point >> 3 * i & 7U];
    to[i] = signs >> i & 1U ? -value : value;
  }
}

void put_point1(unsigned point, float delta, float scale, float* to) {
  for (size_t i = 0; i < 8; ++i) to[i] = scale * (levels_iq1[point >> 2 * i & 3U] + delta);
}

// The scale of 16 elements: half a byte.
float scale_of_16(const std::byte* scales, size_t group) {
  return 0.5F + static_cast<float>(byte_at(scales, group / 2) >> group % 2 * 4 & 15U);
}

}  // namespace

void widen_iq2_xxs(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t group = 0; group < 8; ++group) {
    const std::byte* words = block + 2 + group * 8;
    const auto rest = load_as<uint32_t>(words + 4);
    const float scale = d * (0.5F + static_cast<float>(rest >> 28)) * 0.25F;
    for (size_t i = 0; i < 4; ++i) {
      put_point2(grid_iq2_xxs[byte_at(words, i)], even_signs(rest >> 7 * i), scale,
                 to + group * 32 + i * 8);
    }
  }
}

void widen_iq2_xs(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 32; ++i) {
    const auto word = load_as<uint16_t>(block + 2 + i * 2);
    const float scale = d * scale_of_16(block + 66, i / 2) * 0.25F;
    put_point2(grid_iq2_xs[word & 511U], even_signs(word >> 9), scale, to + i * 8);
  }
}

void widen_iq2_s(const std::byte* block, float* to) {
  const std::byte *low = block + 2, *signs = block + 34, *high = block + 66, *scales = block + 74;
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 32; ++i) {
    unsigned point = byte_at(low, i) | (byte_at(high, i / 4) >> i % 4 * 2 & 3U) << 8;
    put_point2(grid_iq2_s[point], byte_at(signs, i), d * scale_of_16(scales, i / 2) * 0.25F,
               to + i * 8);
  }
}

void widen_iq3_xxs(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 64; ++i) {
    const auto rest = load_as<uint32_t>(block + 66 + i / 8 * 4);
    const float scale = d * (0.5F + static_cast<float>(rest >> 28)) * 0.5F;
    unsigned signs = even_signs(rest >> i % 8 / 2 * 7) >> i % 2 * 4;
    put_point3(grid_iq3_xxs[byte_at(block + 2, i)], levels_iq3_xxs, signs, scale, to + i * 4);
  }
}

void widen_iq3_s(const std::byte* block, float* to) {
  const std::byte *low = block + 2, *high = block + 66, *signs = block + 74, *scales = block + 106;
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 64; ++i) {
    unsigned point = byte_at(low, i) | (byte_at(high, i / 8) >> i % 8 & 1U) << 8;
    unsigned small = byte_at(scales, i / 16) >> i / 8 % 2 * 4 & 15U;
    put_point3(grid_iq3_s[point], levels_iq3_s, byte_at(signs, i / 2) >> i % 2 * 4,
               d * static_cast<float>(1 + 2 * small), to + i * 4);
  }
}

void widen_iq1_s(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 32; ++i) {
    const auto word = load_as<uint16_t>(block + 34 + i / 4 * 2);
    unsigned point = byte_at(block + 2, i) | (word >> i % 4 * 3 & 7U) << 8;
    const float scale = d * static_cast<float>(2 * (word >> 12 & 7U) + 1);
    put_point1(grid_iq1[point], word & 0x8000U ? -delta_iq1 : delta_iq1, scale, to + i * 8);
  }
}

// The block's scale is in the highest four bits of the four words of small scales.
void widen_iq1_m(const std::byte* block, float* to) {
  const std::byte *low = block, *high = block + 32, *scales = block + 48;
  unsigned bits = 0;
  for (size_t i = 0; i < 4; ++i)
    bits |= (load_as<uint16_t>(scales + i * 2) & 0xF000U) >> (12 - 4 * i);
  const float d = widen_f16(static_cast<uint16_t>(bits));
  for (size_t i = 0; i < 32; ++i) {
    unsigned rest = byte_at(high, i / 2) >> i % 2 * 4;
    unsigned small = load_as<uint16_t>(scales + i / 8 * 2) >> i / 2 % 4 * 3 & 7U;
    put_point1(grid_iq1[byte_at(low, i) | (rest & 7U) << 8], rest & 8U ? -delta_iq1 : delta_iq1,
               d * static_cast<float>(2 * small + 1), to + i * 8);
  }
}

void widen_iq4_nl(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  for (size_t i = 0; i < 32; ++i)
    to[i] = d * static_cast<float>(levels_iq4[byte_at(block + 2, i % 16) >> i / 16 * 4 & 15U]);
}

void widen_iq4_xs(const std::byte* block, float* to) {
  const float d = widen_f16(load_as<uint16_t>(block));
  const auto high = load_as<uint16_t>(block + 2);
  for (size_t group = 0; group < 8; ++group) {
    unsigned small =
        (byte_at(block + 4, group / 2) >> group % 2 * 4 & 15U) | (high >> 2 * group & 3U) << 4;
    const float scale = d * static_cast<float>(static_cast<int>(small) - 32);
    const std::byte* quants = block + 8 + group * 16;
    for (size_t i = 0; i < 32; ++i)
      to[group * 32 + i] =
          scale * static_cast<float>(levels_iq4[byte_at(quants, i % 16) >> i / 16 * 4 & 15U]);
  }
}

}  // namespace omnirt::io
