#include "ops/blur.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace omnirt::ops {
namespace {

Tensor one_bright_token(int64_t height, int64_t width, int64_t at) {
  Tensor x = at::zeros({1, height * width, 2}, at::kDouble);
  x[0][at] = 1;
  return x;
}

TEST(BlurTokens, SpreadsATokenAsAGaussianDoes) {
  // In the middle, far from the edges: a kernel of ceil(6 * 0.5) = 3 tokens.
  Tensor y = BlurTokens::reference({one_bright_token(5, 7, 2 * 7 + 3), 5, 7, 0.5});
  double side = std::exp(-0.5 / 0.25), sum = 1 + 2 * side;
  Tensor picture = y.select(2, 1).view({5, 7});
  EXPECT_NEAR(picture[2][3].item<double>(), 1 / (sum * sum), 1e-6);
  EXPECT_NEAR(picture[2][4].item<double>(), side / (sum * sum), 1e-6);
  EXPECT_NEAR(picture[1][2].item<double>(), side * side / (sum * sum), 1e-6);
  EXPECT_EQ(picture[2][5].item<double>(), 0);
}

TEST(BlurTokens, KeepsAnEvenImageOfAnySize) {
  for (int64_t height : {1, 2, 3, 8}) {
    for (double sigma : {0.01, 1.0, 100.0}) {
      Tensor x = at::full({2, height * 5, 3}, 0.75, at::kFloat);
      Tensor y = BlurTokens::reference({x, height, 5, sigma});
      EXPECT_TRUE(at::allclose(y, x)) << height << " rows, sigma " << sigma;
    }
  }
}

TEST(BlurTokens, GivesTheMeanAtInfinity) {
  Tensor x = at::arange(24, at::kDouble).view({2, 6, 2});
  Tensor y = BlurTokens::reference({x, 2, 3, 1e7, true});
  EXPECT_TRUE(at::allclose(y, x.mean(1, true).expand_as(x)));
  EXPECT_EQ(y.sizes(), x.sizes());
}

}  // namespace
}  // namespace omnirt::ops
