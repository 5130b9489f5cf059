#include "expand/normal_stream.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

// tools/goldens/normal_stream.py computes the same, operation by operation.
namespace omnirt::testing {
namespace {

constexpr size_t block_size = 16, half_block = 8;

// 1 / f(n), by compile-time divisions.
template <size_t count, class Function>
constexpr std::array<double, count> reciprocals(Function f) {
  std::array<double, count> all{};
  for (size_t n = 0; n < count; ++n) all[n] = 1.0 / f(static_cast<double>(n));
  return all;
}
constexpr auto odd_parts = reciprocals<12>([](double n) { return 2 * n + 1; });
constexpr auto sine_parts = reciprocals<9>([](double n) { return (2 * n + 2) * (2 * n + 3); });
constexpr auto cosine_parts = reciprocals<9>([](double n) { return (2 * n + 1) * (2 * n + 2); });

// 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1), for m between sqrt(1/2) and sqrt(2).
double log_of(double value) {
  int exponent = 0;
  double m = std::frexp(value, &exponent);
  if (m < 0.70710678118654752) {
    m = m + m;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (size_t i = odd_parts.size(); i-- > 0;) sum = sum * square + odd_parts[i];
  return exponent * std::numbers::ln2 + 2 * s * sum;
}

// Taylor polynomials around the nearest multiple of pi / 2, for angles from 0 to 2 pi.
struct SineCosine {
  double sine, cosine;
};

SineCosine sine_cosine_of(double angle) {
  // pi / 2 in two parts: the first has 33 bits, so a small multiple of it is exact.
  constexpr double high = 1.57079632673412561417, low = 6.07710050650619224932e-11;
  const double quadrant = std::floor(angle * (2 / std::numbers::pi) + 0.5);
  const double x = angle - quadrant * high - quadrant * low, square = x * x;
  double sine = 1, cosine = 1;
  for (size_t i = sine_parts.size(); i-- > 0;) {
    sine = 1 - square * sine_parts[i] * sine;
    cosine = 1 - square * cosine_parts[i] * cosine;
  }
  sine = x * sine;
  switch (static_cast<int>(quadrant) % 4) {
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    case 3:
      return {-cosine, sine};
    default:
      return {sine, cosine};
  }
}

// 24 bits of a draw, as torch takes them for a float.
float uniform_of(uint32_t draw) {
  return static_cast<float>(draw & 0xFFFFFFU) * 0x1p-24F;
}

}  // namespace

void NormalStream::reach(size_t draws) {
  draws_.reserve(draws);
  while (draws_.size() < draws) draws_.push_back(static_cast<uint32_t>(engine_()));
}

// Box-Muller's method in steps of single precision, as torch's vectorized code makes them.
void NormalStream::fill_block(size_t draw, float* block) {
  for (size_t i = 0; i < half_block; ++i) {
    const float u1 = 1 - uniform_of(draws_[draw + i]);
    const float u2 = uniform_of(draws_[draw + half_block + i]);
    const float radius = std::sqrt(-2 * static_cast<float>(log_of(u1)));
    const auto [sine, cosine] = sine_cosine_of(static_cast<float>(2 * std::numbers::pi) * u2);
    block[i] = radius * static_cast<float>(cosine);
    block[half_block + i] = radius * static_cast<float>(sine);
  }
}

std::vector<float> NormalStream::values(size_t draw, size_t count) {
  const size_t rest = count % block_size;
  reach(draw + count + (rest > 0 ? block_size : 0));
  std::vector<float> normals(count);
  for (size_t i = 0; i + block_size <= count; i += block_size) fill_block(draw + i, &normals[i]);
  // torch draws the last 16 again where the blocks leave a rest.
  if (rest > 0) fill_block(draw + count, &normals[count - block_size]);
  return normals;
}

}  // namespace omnirt::testing
