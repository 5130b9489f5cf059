#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "io/ggml_quantize.hpp"
#include "io/ggml_quantize_k.hpp"
#include "io/small_float.hpp"

// Blocks of 256 in groups of 32, each of which has a scale and a minimum of 6 bits (ggml,
// ggml-quants.c: `quantize_row_q4_K_ref`, `quantize_row_q5_K_ref`). Compiled without fused
// multiplication and addition, as ggml_quantize.cpp is.
namespace omnirt::io {
namespace {

constexpr size_t group_size = 32, groups = 8;
using Group = std::span<const float, group_size>;
using Quants = std::array<int, group_size>;

// Ties to even; what is no number becomes 0.
int nearest(float x, int most) {
  if (!(x > 0)) return 0;
  return x >= static_cast<float>(most) ? most : static_cast<int>(std::nearbyint(x));
}

// numbers[i] is about scale * quants[i] - minimum, where neither is negative.
struct Fit {
  float scale = 0, minimum = 0;
  Quants quants{};
};

// How the scale is searched for: the first try is `first` levels more than there are, and each of
// the `steps` that follow 0.1 more.
struct Search {
  int most;  // quants
  float first;
  int steps;
};

// What is minimised: squares of errors, weighed with these.
using Weights = std::array<float, group_size>;

Weights weights_of(Group numbers) {
  float squares = 0;
  for (float x : numbers) squares += x * x;
  const float mean = std::sqrt(squares / static_cast<float>(group_size));
  Weights weights;
  for (size_t i = 0; i < group_size; ++i) weights[i] = mean + std::abs(numbers[i]);
  return weights;
}

float error_of(Group numbers, const Weights& weights, float scale, float lowest,
               const Quants& quants) {
  float error = 0;
  for (size_t i = 0; i < group_size; ++i) {
    const float off = scale * static_cast<float>(quants[i]) + lowest - numbers[i];
    error += weights[i] * (off * off);
  }
  return error;
}

Quants rounded(Group numbers, float lowest, float factor, int most) {
  Quants quants;
  for (size_t i = 0; i < group_size; ++i) quants[i] = nearest(factor * (numbers[i] - lowest), most);
  return quants;
}

struct Sums {
  float weight = 0, number = 0;                   // of weights; weighed
  float quant = 0, square = 0, number_quant = 0;  // weighed
};

// The line through (quant, number) with the least weighed error; through 0 where it would begin
// above it. False where all quants are the same.
bool fit_line(const Sums& sums, float& scale, float& lowest) {
  const float determinant = sums.weight * sums.square - sums.quant * sums.quant;
  if (!(determinant > 0)) return false;
  scale = (sums.weight * sums.number_quant - sums.number * sums.quant) / determinant;
  lowest = (sums.square * sums.number - sums.quant * sums.number_quant) / determinant;
  if (lowest > 0) {
    lowest = 0;
    scale = sums.number_quant / sums.square;
  }
  return true;
}

Sums sums_of(Group numbers, const Weights& weights, const Quants& quants) {
  Sums sums;
  for (size_t i = 0; i < group_size; ++i) {
    const float weight = weights[i], number = numbers[i];
    const auto quant = static_cast<float>(quants[i]);
    sums.weight += weight;
    sums.number += weight * number;
    sums.quant += weight * quant;
    sums.square += weight * quant * quant;
    sums.number_quant += weight * quant * number;
  }
  return sums;
}

Fit fit(Group numbers, const Search& search) {
  const Weights weights = weights_of(numbers);
  const auto [low, high] = std::ranges::minmax_element(numbers);
  float lowest = std::min(*low, 0.0F);
  if (!(*high > lowest)) return {0, -lowest, {}};
  const auto most = static_cast<float>(search.most);
  const float factor = most / (*high - lowest);
  Fit best{1 / factor, 0, rounded(numbers, lowest, factor, search.most)};
  float least = error_of(numbers, weights, best.scale, lowest, best.quants);
  for (int step = 0; step <= search.steps; ++step) {
    const float levels = search.first + 0.1F * static_cast<float>(step) + most;
    const Quants quants = rounded(numbers, lowest, levels / (*high - lowest), search.most);
    float scale = 0, start = 0;
    if (!fit_line(sums_of(numbers, weights, quants), scale, start)) continue;
    const float error = error_of(numbers, weights, scale, start, quants);
    if (!(error < least)) continue;
    least = error;
    lowest = start;
    best = {scale, 0, quants};
  }
  best.minimum = -lowest;
  return best;
}

// The scales and minimums of all groups as numbers of 6 bits, and the block's two halves.
struct Scales {
  std::array<int, groups> scale, minimum;
  uint16_t d, dmin;
};

Scales scales_of(const std::array<Fit, groups>& fits) {
  float scale = 0, minimum = 0;
  for (const Fit& fit : fits) {
    scale = std::max(scale, fit.scale);
    minimum = std::max(minimum, fit.minimum);
  }
  const float by_scale = scale > 0 ? 63 / scale : 0, by_minimum = minimum > 0 ? 63 / minimum : 0;
  Scales made{{}, {}, narrow_f16(scale / 63), narrow_f16(minimum / 63)};
  for (size_t i = 0; i < groups; ++i) {
    made.scale[i] = nearest(by_scale * fits[i].scale, 63);
    made.minimum[i] = nearest(by_minimum * fits[i].minimum, 63);
  }
  return made;
}

// Four of each in 6 bits of 8 bytes, whose high bits complete the other four in 4 bytes.
void put_scales(const Scales& scales, std::byte* to) {
  std::memcpy(to, &scales.d, sizeof scales.d);
  std::memcpy(to + 2, &scales.dmin, sizeof scales.dmin);
  for (size_t i = 0; i < 4; ++i) {
    const int scale = scales.scale[i + 4], minimum = scales.minimum[i + 4];
    to[4 + i] = static_cast<std::byte>(scales.scale[i] | scale >> 4 << 6);
    to[8 + i] = static_cast<std::byte>(scales.minimum[i] | minimum >> 4 << 6);
    to[12 + i] = static_cast<std::byte>((scale & 15) | (minimum & 15) << 4);
  }
}

// Quants are rounded again, by the scales as they are stored.
std::array<Quants, groups> quants_of(std::span<const float, 256> numbers, const Search& search,
                                     std::byte* to) {
  std::array<Fit, groups> fits;
  for (size_t g = 0; g < groups; ++g)
    fits[g] = fit(Group(numbers.data() + g * group_size, group_size), search);
  const Scales scales = scales_of(fits);
  put_scales(scales, to);
  std::array<Quants, groups> quants;
  for (size_t g = 0; g < groups; ++g) {
    quants[g] = fits[g].quants;
    const float scale = widen_f16(scales.d) * static_cast<float>(scales.scale[g]);
    const float minimum = widen_f16(scales.dmin) * static_cast<float>(scales.minimum[g]);
    if (scale == 0) continue;
    for (size_t i = 0; i < group_size; ++i)
      quants[g][i] = nearest((numbers[g * group_size + i] + minimum) / scale, search.most);
  }
  return quants;
}

// Of two groups, the first in the low four bits of 32 bytes, the second in the high ones.
void put_low_bits(const std::array<Quants, groups>& quants, std::byte* to) {
  for (size_t g = 0; g < groups; g += 2) {
    for (size_t i = 0; i < group_size; ++i)
      *to++ = static_cast<std::byte>((quants[g][i] & 15) | (quants[g + 1][i] & 15) << 4);
  }
}

}  // namespace

void quantize_q4_k(std::span<const float, 256> numbers, std::byte* to) {
  put_low_bits(quants_of(numbers, {15, -1, 20}, to), to + 16);
}

void quantize_q5_k(std::span<const float, 256> numbers, std::byte* to) {
  const auto quants = quants_of(numbers, {31, -0.5F, 15}, to);
  for (size_t i = 0; i < group_size; ++i) {
    int fifth = 0;
    for (size_t g = 0; g < groups; ++g) fifth |= (quants[g][i] >> 4 & 1) << g;
    to[16 + i] = static_cast<std::byte>(fifth);
  }
  put_low_bits(quants, to + 48);
}

}  // namespace omnirt::io
