#include "io/image_md5.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace omnirt::io {
namespace {

using State = std::array<uint32_t, 4>;

// RFC 1321, 3.4: T[i] is the integer part of 2^32 * |sin(i + 1)|.
std::array<uint32_t, 64> sine_table() {
  std::array<uint32_t, 64> table{};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<uint32_t>(std::floor(4294967296.0 * std::fabs(std::sin(i + 1.0))));
  }
  return table;
}

constexpr std::array<std::array<int, 4>, 4> rotations{
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

uint32_t mix(size_t round, const State& s) {
  switch (round) {
    case 0:
      return (s[1] & s[2]) | (~s[1] & s[3]);
    case 1:
      return (s[1] & s[3]) | (s[2] & ~s[3]);
    case 2:
      return s[1] ^ s[2] ^ s[3];
    default:
      return s[2] ^ (s[1] | ~s[3]);
  }
}

size_t word_index(size_t round, size_t i) {
  constexpr std::array<size_t, 4> factors{1, 5, 3, 7};
  constexpr std::array<size_t, 4> offsets{0, 1, 5, 0};
  return (factors[round] * i + offsets[round]) % 16;
}

uint32_t read_word(std::string_view block, size_t index) {
  uint32_t word = 0;
  for (size_t k = 4; k-- > 0;) {
    word = word << 8 | static_cast<unsigned char>(block[4 * index + k]);
  }
  return word;
}

void add_block(State& state, std::string_view block) {
  static const std::array<uint32_t, 64> table = sine_table();
  State s = state;
  for (size_t i = 0; i < 64; ++i) {
    const size_t round = i / 16;
    const uint32_t sum = s[0] + mix(round, s) + table[i] + read_word(block, word_index(round, i));
    s = {s[3], s[1] + std::rotl(sum, rotations[round][i % 4]), s[1], s[2]};
  }
  for (size_t k = 0; k < 4; ++k) state[k] += s[k];
}

}  // namespace

std::string md5_hex(std::string_view bytes) {
  State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (; bytes.size() >= 64; bytes.remove_prefix(64)) add_block(state, bytes.substr(0, 64));
  std::string tail(bytes);
  tail += '\x80';
  tail.append((120 - tail.size() % 64) % 64, '\0');
  for (int k = 0; k < 8; ++k) tail += static_cast<char>(bits >> (8 * k));
  for (size_t at = 0; at < tail.size(); at += 64) {
    add_block(state, std::string_view(tail).substr(at, 64));
  }
  std::string hex;
  for (uint32_t word : state) {
    for (int k = 0; k < 4; ++k) hex += fmt::format("{:02X}", word >> (8 * k) & 0xffU);
  }
  return hex;
}

}  // namespace omnirt::io
