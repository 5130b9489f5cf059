#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/simd/targets.h"
#include "backends/cpu/simd/types.hpp"
// After the line above, which says what to build for.
#include <hwy/highway.h>

namespace omnirt::cpu {

// The SIMD targets that are built in and that this machine runs.
inline std::vector<int64_t> machine_targets() {
  std::vector<int64_t> targets;
  hwy::SetSupportedTargetsForTest(0);
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_NEON, HWY_EMU128, HWY_SCALAR}) {
    if (hwy::SupportedTargets() & target & HWY_TARGETS) targets.push_back(target);
  }
  return targets;
}

inline std::string target_name(const testing::TestParamInfo<int64_t>& info) {
  return hwy::TargetName(info.param);
}

// Runs a test with one target forced.
class EachTarget : public testing::TestWithParam<int64_t> {
 protected:
  EachTarget() { use(GetParam()); }
  ~EachTarget() override { use(0); }

 private:
  static void use(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::vector<float> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

inline uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float from_bf16(uint16_t half) {
  return std::bit_cast<float>(uint32_t{half} << 16);
}

inline float from_f16(uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 1023;
  double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) {
    size = fraction ? std::numeric_limits<double>::quiet_NaN()
                    : std::numeric_limits<double>::infinity();
  }
  return static_cast<float>(half & 0x8000 ? -size : size);
}
// The nearest half at or below in size: enough for test data.
inline uint16_t to_f16(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  int exponent;
  const double part = std::frexp(std::abs(value), &exponent);  // value = part * 2^exponent
  if (part == 0) return sign;
  if (exponent < -13) return sign | static_cast<uint16_t>(std::ldexp(part, exponent + 24));
  const auto fraction = static_cast<uint16_t>(std::ldexp(part, 11));
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + (fraction - 1024));
}

// Weights as a file holds them, `shift` bytes off their alignment, and the values they encode.
struct StoredWeights {
  StoredWeights() = default;
  StoredWeights(std::vector<float> wanted, WeightType type, size_t shift)
      : values(std::move(wanted)), bytes(values.size() * 4 + shift), shift(shift) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (type == WeightType::f32) {
        std::memcpy(bytes.data() + shift + 4 * i, &values[i], 4);
        continue;
      }
      const uint16_t half = type == WeightType::f16 ? to_f16(values[i]) : to_bf16(values[i]);
      values[i] = type == WeightType::f16 ? from_f16(half) : from_bf16(half);
      std::memcpy(bytes.data() + shift + 2 * i, &half, 2);
    }
  }
  const void* data() const { return bytes.data() + shift; }

  std::vector<float> values;
  std::vector<uint8_t> bytes;
  size_t shift = 0;
};

inline double activated(double x, Activation kind) {
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
      return x < 0 ? 0 : x;
    case Activation::leaky_relu:
      return x < 0 ? 0.2 * x : x;
  }
  return x;
}

}  // namespace omnirt::cpu
