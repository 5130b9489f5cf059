#include <gmock/gmock.h>

#include "base/error.hpp"
#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

using ops::Activation;

double defined(Activation kind, double x) {
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::leaky_relu:
      return x < 0 ? 0.2 * x : x;
  }
  return x;
}

TEST(Activate, IsTheFunctionOfItsName) {
  Tensor x = at::cat({4 * numbers({50}), at::tensor({0.0f, -0.0f, 30.0f, -30.0f})});
  for (auto kind : {Activation::none, Activation::silu, Activation::gelu, Activation::gelu_tanh,
                    Activation::quick_gelu, Activation::relu, Activation::leaky_relu}) {
    Tensor expected = x.to(at::kDouble);
    for (int64_t i = 0; i < x.numel(); ++i) expected[i] = defined(kind, x[i].item<double>());
    expect_close(computed(ops::Activate{x, kind}), expected);
    expect_close(ops::activate_in_place(x.clone(), kind), expected);
  }
}

TEST(Activate, IsNamedAsConfigsNameIt) {
  EXPECT_EQ(ops::activation_from_name("swish", "act_fn"), Activation::silu);
  EXPECT_EQ(ops::activation_from_name("gelu_new", "act_fn"), Activation::gelu_tanh);
  EXPECT_THAT([] { ops::activation_from_name("mish", "unet.act_fn"); },
              ::testing::ThrowsMessage<Unsupported>(
                  ::testing::AllOf(::testing::HasSubstr("unet.act_fn"),
                                   ::testing::HasSubstr("mish"), ::testing::HasSubstr("silu"))));
}

TEST(Geglu, GatesTheFirstHalfByTheSecond) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1, 2}, {2, 3, 8}}) {
    Tensor x = numbers(shape);
    auto halves = x.to(at::kDouble).chunk(2, -1);
    expect_close(computed(ops::Geglu{x}), halves[0] * ops::activate(halves[1], Activation::gelu));
  }
}

TEST(Add, BroadcastsAndScales) {
  Tensor x = numbers({2, 3, 4, 4}), same = numbers({2, 3, 4, 4}, 2), row = numbers({3, 1, 1}, 3);
  expect_close(computed(ops::Add{x, same}), x.to(at::kDouble) + same);
  expect_close(computed(ops::Add{x, row, 0.5}), (x.to(at::kDouble) + row) * 0.5);
}

TEST(Concat, JoinsChannels) {
  for (bool last : {false, true}) {
    Tensor x = numbers({2, 3, 4, 5}), other = numbers({2, 2, 4, 5}, 2);
    if (last) other = channels_last(other);
    Tensor y = computed(ops::Concat{x, other});
    EXPECT_TRUE(y.narrow(1, 0, 3).equal(x));
    EXPECT_TRUE(y.narrow(1, 3, 2).equal(other));
  }
}

TEST(Modulate, ScalesByOneMoreAndShifts) {
  Tensor x = numbers({2, 3, 4, 4}), scale = numbers({2, 3, 1, 1}, 2),
         shift = numbers({2, 3, 1, 1}, 3);
  expect_close(computed(ops::Modulate{x, scale, shift}),
               x.to(at::kDouble) * (1 + scale.to(at::kDouble)) + shift);
}

TEST(AvgPool2d, IsTheMeanOfEachWindow) {
  Tensor x = numbers({1, 2, 6, 5});
  Tensor y = computed(ops::AvgPool2d{x, 2});
  expect_close(y.select(2, 1).select(2, 0),
               x.narrow(2, 2, 2).narrow(3, 0, 2).to(at::kDouble).mean(at::IntArrayRef{2, 3}));
}

TEST(UpsampleNearest, RepeatsTheNearestPixel) {
  Tensor x = numbers({1, 2, 3, 4});
  for (auto [height, width] : {std::pair<int64_t, int64_t>{6, 8}, {5, 7}, {3, 4}}) {
    Tensor y = computed(ops::UpsampleNearest{x, height, width});
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        EXPECT_TRUE(y.select(2, i).select(2, j).equal(
            x.select(2, i * 3 / height).select(2, j * 4 / width)));
      }
    }
  }
}

TEST(SoftClamp, BendsTowardsItsBound) {
  Tensor x = at::tensor({-100.0f, -1.0f, 0.0f, 2.0f, 100.0f});
  expect_close(computed(ops::SoftClamp{x, 3.0}), (x.to(at::kDouble) / 3).tanh() * 3);
}

TEST(Affine, ScalesAndShifts) {
  Tensor x = numbers({2, 3});
  expect_close(computed(ops::Affine{x, 2.0, -1.0}), x.to(at::kDouble) * 2 - 1);
}

TEST(GaussianSample, LimitsTheLogarithmOfTheVariance) {
  Tensor mean = numbers({1, 2, 2, 2}), noise = numbers({1, 2, 2, 2}, 3);
  Tensor logvar = 20 * numbers({1, 2, 2, 2}, 2);
  Tensor spread = (logvar.to(at::kDouble).clamp(-30, 20) / 2).exp();
  expect_close(computed(ops::GaussianSample{mean, logvar, noise}), mean + spread * noise);
}

TEST(StateAtToken, IsTheFirstOfTheTokenOrTheLargest) {
  Tensor x = numbers({2, 4, 3});
  Tensor ids = at::tensor({7, 5, 9, 5, 1, 2, 3, 3}, at::kLong).view({2, 4});
  Tensor first = computed(ops::StateAtToken{x, ids, 5, false});
  EXPECT_TRUE(first[0].equal(x[0][1]));
  EXPECT_TRUE(first[1].equal(x[1][0]));  // there is none
  Tensor largest = computed(ops::StateAtToken{x, ids, 2, true});
  EXPECT_TRUE(largest[0].equal(x[0][2]));
  EXPECT_TRUE(largest[1].equal(x[1][2]));  // the first of equals
}

}  // namespace
}  // namespace omnirt::testing
