// The vector functions of simd/math-inl.h against double precision.
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/gemm_math_test.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// One float through a vector.
template <class Function>
HWY_INLINE float through(float x, const Function& function) {
  const hn::ScalableTag<float> d;
  return hn::GetLane(function(hn::Set(d, x)));
}

inline float vector_exp(float x) {
  return through(x, [](auto v) { return exp(v); });
}
inline float vector_erf(float x) {
  return through(x, [](auto v) { return erf(v); });
}
inline float vector_tanh(float x) {
  return through(x, [](auto v) { return tanh(v); });
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cpu/simd/gemm_fixture.hpp"

namespace omnirt::cpu {
namespace {

HWY_EXPORT(vector_exp);
HWY_EXPORT(vector_erf);
HWY_EXPORT(vector_tanh);

// How far `got` is from `wanted`, in units in the last place of a float of that size.
double ulps(float got, double wanted) {
  if (static_cast<double>(got) == wanted) return 0;
  const auto size =
      std::max(std::abs(static_cast<float>(wanted)), std::numeric_limits<float>::min());
  const double unit = static_cast<double>(std::nextafter(size, 1e30f)) - static_cast<double>(size);
  return std::abs(static_cast<double>(got) - wanted) / unit;
}

template <class Got, class Wanted>
double worst(float low, float high, const Got& got, const Wanted& wanted) {
  double most = 0;
  for (int i = 0; i <= 40000; ++i) {
    const float x = low + (high - low) * static_cast<float>(i) / 40000.0f;
    most = std::max(most, ulps(got(x), wanted(static_cast<double>(x))));
  }
  return most;
}

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class VectorMath : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, VectorMath, testing::ValuesIn(machine_targets()), target_name);

TEST_P(VectorMath, ExpIsRightToTwoUnitsInTheLastPlace) {
  const auto got = [](float x) { return HWY_DYNAMIC_DISPATCH(vector_exp)(x); };
  const auto wanted = [](double x) { return std::exp(x); };
  EXPECT_LT(worst(-1, 1, got, wanted), 2);
  EXPECT_LT(worst(-87, 88.7f, got, wanted), 2);
  EXPECT_EQ(got(0), 1);
  EXPECT_EQ(got(inf), inf);
  EXPECT_EQ(got(100), inf);
  EXPECT_EQ(got(3e38f), inf);
  EXPECT_EQ(got(-inf), 0);
  EXPECT_EQ(got(-200), 0);
  EXPECT_GT(got(-100), 0) << "a subnormal result";
  EXPECT_TRUE(std::isnan(got(nan)));
}

TEST_P(VectorMath, ErfIsRightToTwoUnitsInTheLastPlace) {
  const auto got = [](float x) { return HWY_DYNAMIC_DISPATCH(vector_erf)(x); };
  const auto wanted = [](double x) { return std::erf(x); };
  EXPECT_LT(worst(-6, 6, got, wanted), 2);
  EXPECT_LT(worst(-1e-3f, 1e-3f, got, wanted), 2);
  EXPECT_EQ(got(inf), 1);
  EXPECT_EQ(got(-3e38f), -1);
  EXPECT_EQ(got(0), 0);
  EXPECT_TRUE(std::isnan(got(nan)));
}

TEST_P(VectorMath, TanhIsRightToTwoUnitsInTheLastPlace) {
  const auto got = [](float x) { return HWY_DYNAMIC_DISPATCH(vector_tanh)(x); };
  const auto wanted = [](double x) { return std::tanh(x); };
  EXPECT_LT(worst(-12, 12, got, wanted), 2);
  EXPECT_LT(worst(-1e-3f, 1e-3f, got, wanted), 2);
  EXPECT_EQ(got(inf), 1);
  EXPECT_EQ(got(-3e38f), -1);
  EXPECT_EQ(got(0), 0);
  EXPECT_TRUE(std::isnan(got(nan)));
}

}  // namespace
}  // namespace omnirt::cpu
#endif
