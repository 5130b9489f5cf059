#include <gmock/gmock.h>

#include "base/error.hpp"
#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

struct Picture {
  at::TensorAccessor<float, 4> values;
  int64_t height, width, rows, columns;  // as stored, and as upsampled

  // Zero outside; nearest-neighbour inside.
  double at(int64_t b, int64_t c, int64_t y, int64_t x) const {
    if (y < 0 || x < 0 || y >= rows || x >= columns) return 0;
    return values[b][c][y * height / rows][x * width / columns];
  }
};

// The sum of the definition, in fp64.
Tensor convolved(const ops::Conv2d& args) {
  bool up = args.upsample_to[0] > 0;
  Picture picture{args.x.accessor<float, 4>(), args.x.size(2), args.x.size(3),
                  up ? args.upsample_to[0] : args.x.size(2),
                  up ? args.upsample_to[1] : args.x.size(3)};
  auto weight = args.weight.accessor<float, 4>();
  auto [left, right, top, bottom] = args.padding;
  Tensor y = at::zeros(ops::Conv2d::shape(args), at::kDouble);
  auto out = y.accessor<double, 4>();
  for (int64_t b = 0; b < y.size(0); ++b)
    for (int64_t o = 0; o < y.size(1); ++o)
      for (int64_t i = 0; i < y.size(2); ++i)
        for (int64_t j = 0; j < y.size(3); ++j)
          for (int64_t c = 0; c < weight.size(1); ++c)
            for (int64_t k = 0; k < weight.size(2); ++k)
              for (int64_t l = 0; l < weight.size(3); ++l)
                out[b][o][i][j] +=
                    picture.at(b, c, i * args.stride + k - top, j * args.stride + l - left) *
                    weight[o][c][k][l];
  if (args.bias) y += args.bias->view({1, -1, 1, 1});
  if (args.sample_bias) y += args.sample_bias->unsqueeze(-1).unsqueeze(-1);
  if (args.residual) y += *args.residual;
  return ops::activate(y, args.activation);
}

void expect_defined(const ops::Conv2d& args) {
  expect_close(computed(args), convolved(args));
}

TEST(Conv2d, IsTheSumOfItsDefinition) {
  for (auto [batch, in, out, height, width] :
       {std::array<int64_t, 5>{1, 1, 1, 1, 1}, {2, 3, 5, 7, 6}, {1, 8, 4, 1, 9}, {3, 4, 8, 8, 8}}) {
    Tensor x = numbers({batch, in, height, width}), bias = numbers({out}, 3);
    for (int64_t kernel : {1, 3, 5}) {
      for (int64_t stride : {1, 2}) {
        Tensor weight = numbers({out, in, kernel, kernel}, 2);
        int64_t pad = kernel / 2;
        expect_defined({x, weight, &bias, stride, {pad, pad, pad, pad}});
        expect_defined(
            {channels_last(x), channels_last(weight), nullptr, stride, {pad, pad, pad, pad}});
      }
    }
  }
}

TEST(Conv2d, PadsEachSideByItself) {
  Tensor x = numbers({1, 2, 6, 5}), weight = numbers({3, 2, 3, 3}, 2);
  expect_defined({x, weight, nullptr, 2, {0, 1, 0, 1}});
  expect_defined({x, weight, nullptr, 1, {2, 0, 1, 3}});
}

TEST(Conv2d, UpsamplesFirst) {
  Tensor x = numbers({2, 3, 4, 5}), weight = numbers({4, 3, 3, 3}, 2);
  for (std::array<int64_t, 2> size :
       {std::array<int64_t, 2>{8, 10}, {7, 9}, {4, 5}, {12, 15}, {5, 10}}) {
    ops::Conv2d args{x, weight, nullptr, 1, {1, 1, 1, 1}};
    args.upsample_to = size;
    expect_defined(args);
  }
}

TEST(Conv2d, AddsTheSamplesBiasAndTheResidualBeforeItActivates) {
  Tensor x = numbers({2, 3, 5, 4}), weight = numbers({6, 3, 3, 3}, 2), bias = numbers({6}, 3);
  Tensor residual = numbers({2, 6, 5, 4}, 4), sample_bias = numbers({2, 6}, 5);
  for (auto activation : {ops::Activation::none, ops::Activation::silu, ops::Activation::relu,
                          ops::Activation::gelu}) {
    expect_defined(
        {x, weight, &bias, 1, {1, 1, 1, 1}, activation, &residual, {0, 0}, &sample_bias});
  }
}

TEST(Conv2d, NormalisesItsInputFirst) {
  Tensor x = 3 * numbers({2, 8, 5, 4}) + 1, weight = numbers({6, 8, 3, 3}, 2);
  Tensor scale = numbers({8}, 3), shift = numbers({8}, 4);
  ops::InputNorm norm{&scale, &shift, 4, 1e-5, ops::Activation::silu};
  Tensor normed = ops::GroupNorm::reference(norm.of(x));
  ops::Conv2d plain{normed, weight, nullptr, 1, {1, 1, 1, 1}};
  ops::Conv2d args{x, weight, nullptr, 1, {1, 1, 1, 1}};
  args.norm = &norm;
  EXPECT_TRUE(computed(args).equal(computed(plain)));
}

TEST(Conv2d, LeavesItsArgumentsAsTheyAre) {
  Tensor x = numbers({1, 2, 4, 4}), weight = numbers({2, 2, 1, 1}, 2);
  Tensor residual = numbers({1, 2, 4, 4}, 3), before = residual.clone();
  computed(ops::Conv2d{x, weight, nullptr, 1, {0, 0, 0, 0}, ops::Activation::relu, &residual});
  EXPECT_TRUE(residual.equal(before));
}

TEST(Conv2d, RefusesAKernelLargerThanTheImage) {
  Tensor x = numbers({1, 1, 1, 1}), weight = numbers({1, 1, 3, 3});
  EXPECT_THAT(([&] {
                ops::Conv2d::shape({x, weight, nullptr, 2, {0, 1, 0, 1}});
              }),
              ::testing::Throws<InternalError>());
}

}  // namespace
}  // namespace omnirt::testing
