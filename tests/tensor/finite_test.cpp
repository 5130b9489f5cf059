#include "tensor/finite.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

namespace omnirt {
namespace {

TEST(FirstNotFinite, IsItsPlaceInEachType) {
  for (at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kFloat8_e5m2, at::kFloat8_e4m3fn}) {
    SCOPED_TRACE(at::toString(type));
    Tensor x = at::ones({2, 3000}) * 2;
    EXPECT_EQ(first_not_finite(x.to(type)), std::nullopt);
    x[1][2999] = NAN;
    EXPECT_EQ(first_not_finite(x.to(type)), "nan at [1, 2999]");
  }
}

TEST(FirstNotFinite, SeesInfinitiesAndViews) {
  Tensor x = at::zeros({4, 5});
  x[2][1] = -INFINITY;
  EXPECT_EQ(first_not_finite(x), "-inf at [2, 1]");
  EXPECT_EQ(first_not_finite(x.t()), "-inf at [1, 2]");
  EXPECT_EQ(first_not_finite(x.narrow(0, 0, 2)), std::nullopt);
}

TEST(FirstNotFinite, LooksAtNumbersOnly) {
  EXPECT_EQ(first_not_finite(Tensor()), std::nullopt);
  EXPECT_EQ(first_not_finite(at::zeros({0, 3})), std::nullopt);
  EXPECT_EQ(first_not_finite(at::ones({3}, at::kLong) * -1), std::nullopt);
}

}  // namespace
}  // namespace omnirt
