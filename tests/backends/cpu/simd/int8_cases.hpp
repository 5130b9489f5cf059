#pragma once
#define OMNIRT_WANT_VNNI
#include "backends/cpu/simd/targets.h"
// The kernels' targets must be chosen before Highway is seen.
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/simd/int8_view.hpp"
#include "backends/cpu/simd/thread_team.hpp"

// What the tests of the int8 products share.
namespace omnirt::cpu {

// Calls body(kernels, name) for each target that this machine has, the matrix unit included.
template <class Body>
void for_each_int8_target(const Body& body) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    const Int8Kernels plain = int8_kernels(false), tiles = int8_kernels(true);
    body(plain, std::string(hwy::TargetName(target)));
    if (tiles.product != plain.product) body(tiles, std::string("AMX"));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

// Numbers of a fixed stream, near normal: a sum of four uniform ones.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed * 2654435761u + 1) {}
  uint32_t bits() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }
  float next() {
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>(bits()) * 0x1p-24f;
    return (sum - 2) * 1.7f;
  }
  std::vector<float> take(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = next();
    return values;
  }

 private:
  uint32_t state_;
};

// A row of activations after rounding, in the arithmetic that the kernels state.
struct RoundedRow {
  double scale = 0;
  int32_t zero = 0;
  std::vector<int32_t> values;
  double value(size_t i) const { return scale * (values[i] - zero); }
};

inline RoundedRow round_row(const std::vector<float>& x) {
  Int8Range range{0, 0};
  for (const float value : x) {
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  const Int8Scale scale = int8_scale(range);
  RoundedRow row{scale.scale, scale.zero, {}};
  for (const float value : x) {
    const float scaled = value * scale.inverse;
    const long rounded = std::lrint(scaled) + scale.zero;
    row.values.push_back(static_cast<int32_t>(std::min(255L, std::max(0L, rounded))));
  }
  return row;
}

inline std::vector<double> round_weights(const float* w, size_t count) {
  float most = 0;
  for (size_t i = 0; i < count; ++i) most = std::max(most, std::abs(w[i]));
  const float scale = most / 127, inverse = scale > 0 ? 1 / scale : 0;
  std::vector<double> rounded;
  for (size_t i = 0; i < count; ++i)
    rounded.push_back(static_cast<double>(scale) * static_cast<double>(std::lrint(w[i] * inverse)));
  return rounded;
}

inline double activate(Activation kind, double x) {
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return std::max(0.0, x);
    case Activation::leaky_relu:
      return x < 0 ? 0.2 * x : x;
  }
  return x;
}

// Signal to noise, in decibels.
inline double decibels(const std::vector<double>& signal, const std::vector<float>& seen) {
  double power = 0, noise = 0;
  for (size_t i = 0; i < signal.size(); ++i) {
    power += signal[i] * signal[i];
    noise += (signal[i] - seen[i]) * (signal[i] - seen[i]);
  }
  return 10 * std::log10(power / noise);
}

}  // namespace omnirt::cpu
