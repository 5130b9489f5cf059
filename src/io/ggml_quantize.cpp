#include "io/ggml_quantize.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/ensure.hpp"
#include "io/ggml_quantize_k.hpp"
#include "io/small_float.hpp"

// Compiled without fused multiplication and addition (src/CMakeLists.txt): each step rounds as the
// reference's does, so that files are the same on every machine.
namespace omnirt::io {
namespace {

constexpr size_t block_size = 32;
using Block = std::span<const float, block_size>;

void put16(std::byte* to, uint16_t bits) {
  std::memcpy(to, &bits, sizeof bits);
}

float inverse(float scale) {
  return scale == 0 ? 0 : 1 / scale;
}

// The number of the largest magnitude, the first of several.
float extreme(Block numbers) {
  float found = numbers[0];
  for (float x : numbers) {
    if (std::abs(x) > std::abs(found)) found = x;
  }
  return found;
}

// Towards zero and into 0..most; what is no number becomes 0.
unsigned whole(float x, int most) {
  if (!(x > 0)) return 0;
  return x >= static_cast<float>(most) ? static_cast<unsigned>(most) : static_cast<unsigned>(x);
}

// Halves in the low and the high bits of 16 bytes.
void put_nibbles(std::byte* to, const std::array<unsigned, block_size>& quants) {
  for (size_t i = 0; i < 16; ++i)
    to[i] = static_cast<std::byte>((quants[i] & 15U) | (quants[i + 16] & 15U) << 4);
}

void put_fifth_bits(std::byte* to, const std::array<unsigned, block_size>& quants) {
  uint32_t bits = 0;
  for (size_t i = 0; i < block_size; ++i) bits |= (quants[i] >> 4 & 1U) << i;
  std::memcpy(to, &bits, sizeof bits);
}

struct Quantized {
  float scale, minimum;
  std::array<unsigned, block_size> quants;
};

// Around zero: the extreme becomes the lowest of `levels` numbers.
Quantized around_zero(Block numbers, int levels) {
  Quantized made{extreme(numbers) / static_cast<float>(-levels / 2), 0, {}};
  const float factor = inverse(made.scale), half = static_cast<float>(levels / 2) + 0.5F;
  for (size_t i = 0; i < block_size; ++i) {
    const float scaled = numbers[i] * factor;
    made.quants[i] = whole(scaled + half, levels - 1);
  }
  return made;
}

// From the lowest number to the highest.
Quantized from_lowest(Block numbers, int levels) {
  const auto [low, high] = std::ranges::minmax_element(numbers);
  Quantized made{(*high - *low) / static_cast<float>(levels - 1), *low, {}};
  const float factor = inverse(made.scale);
  for (size_t i = 0; i < block_size; ++i) {
    const float scaled = (numbers[i] - made.minimum) * factor;
    made.quants[i] = whole(scaled + 0.5F, levels - 1);
  }
  return made;
}

void quantize_q4_0(Block numbers, std::byte* to) {
  Quantized made = around_zero(numbers, 16);
  put16(to, narrow_f16(made.scale));
  put_nibbles(to + 2, made.quants);
}

void quantize_q4_1(Block numbers, std::byte* to) {
  Quantized made = from_lowest(numbers, 16);
  put16(to, narrow_f16(made.scale));
  put16(to + 2, narrow_f16(made.minimum));
  put_nibbles(to + 4, made.quants);
}

void quantize_q5_0(Block numbers, std::byte* to) {
  Quantized made = around_zero(numbers, 32);
  put16(to, narrow_f16(made.scale));
  put_fifth_bits(to + 2, made.quants);
  put_nibbles(to + 6, made.quants);
}

void quantize_q5_1(Block numbers, std::byte* to) {
  Quantized made = from_lowest(numbers, 32);
  put16(to, narrow_f16(made.scale));
  put16(to + 2, narrow_f16(made.minimum));
  put_fifth_bits(to + 4, made.quants);
  put_nibbles(to + 8, made.quants);
}

// Halves are rounded away from zero.
void quantize_q8_0(Block numbers, std::byte* to) {
  const float scale = std::abs(extreme(numbers)) / 127, factor = inverse(scale);
  put16(to, narrow_f16(scale));
  for (size_t i = 0; i < block_size; ++i) {
    const float scaled = numbers[i] * factor, size = std::abs(scaled), floored = std::floor(size);
    const float rounded = floored + std::floor(2 * (size - floored));
    const int quant = rounded <= 127 ? static_cast<int>(rounded) : 127;
    to[2 + i] = static_cast<std::byte>(scaled < 0 ? -quant : quant);
  }
}

// All blocks of a type.
using Quantize = void (*)(std::span<const float>, std::byte*);

template <size_t elements, size_t bytes,
          void (*block)(std::span<const float, elements>, std::byte*)>
void quantize_all(std::span<const float> numbers, std::byte* to) {
  for (size_t i = 0; i + elements <= numbers.size(); i += elements, to += bytes)
    block(std::span<const float, elements>(numbers.data() + i, elements), to);
}

struct Writer {
  std::string_view name;
  Quantize blocks;  // nullptr: one number per element
};
constexpr std::array writers{Writer{"F32", nullptr},
                             Writer{"F16", nullptr},
                             Writer{"BF16", nullptr},
                             Writer{"Q8_0", quantize_all<32, 34, quantize_q8_0>},
                             Writer{"Q5_K", quantize_all<256, 176, quantize_q5_k>},
                             Writer{"Q5_1", quantize_all<32, 24, quantize_q5_1>},
                             Writer{"Q5_0", quantize_all<32, 22, quantize_q5_0>},
                             Writer{"Q4_K", quantize_all<256, 144, quantize_q4_k>},
                             Writer{"Q4_1", quantize_all<32, 20, quantize_q4_1>},
                             Writer{"Q4_0", quantize_all<32, 18, quantize_q4_0>}};

std::vector<std::byte> narrowed(Dtype dtype, std::span<const float> numbers) {
  auto all = std::as_bytes(numbers);
  if (dtype == Dtype::f32) return {all.begin(), all.end()};
  std::vector<std::byte> made(numbers.size() * 2);
  for (size_t i = 0; i < numbers.size(); ++i)
    put16(&made[i * 2], dtype == Dtype::f16 ? narrow_f16(numbers[i]) : narrow_bf16(numbers[i]));
  return made;
}

}  // namespace

std::vector<std::string> written_ggml_types() {
  std::vector<std::string> names;
  for (const Writer& writer : writers) names.push_back(find_ggml_type(writer.name)->common_name());
  return names;
}

bool can_quantize(const GgmlType& type) {
  return std::ranges::find(writers, type.name, &Writer::name) != writers.end();
}

std::vector<std::byte> quantize(const GgmlType& type, std::span<const float> numbers) {
  const auto* writer = std::ranges::find(writers, type.name, &Writer::name);
  ensure(writer != writers.end() && numbers.size() % type.block == 0, "{} numbers as {}",
         numbers.size(), type.name);
  if (!writer->blocks) return narrowed(*type.plain, numbers);
  std::vector<std::byte> made(numbers.size() / type.block * type.bytes);
  writer->blocks(numbers, made.data());
  return made;
}

}  // namespace omnirt::io
