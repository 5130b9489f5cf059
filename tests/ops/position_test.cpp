#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

TEST(AddPositions, TellsEachTokenItsRowAndColumn) {
  constexpr int64_t height = 3, width = 5, dim = 16, base = 4;
  Tensor x = numbers({2, height * width, dim});
  Tensor expected = x.to(at::kDouble);
  for (int64_t row = 0; row < height; ++row) {
    for (int64_t column = 0; column < width; ++column) {
      for (int64_t i = 0; i < dim; ++i) {
        bool tells_row = i >= dim / 2;
        double at = tells_row ? row * double(base) / height : column * double(base) / width;
        int64_t wave = i % (dim / 2);
        double angle = at / 2.0 / std::pow(10000.0, (wave % (dim / 4)) / double(dim / 4));
        double position = wave < dim / 4 ? std::sin(angle) : std::cos(angle);
        for (int64_t b = 0; b < 2; ++b) expected[b][row * width + column][i] += position;
      }
    }
  }
  expect_close(computed(ops::AddPositions{x, height, width, base, 2.0}), expected);
}

// transformers' buckets for 32 of them and distance 128, by its own words: exact to 7, then by
// logarithm.
TEST(RelativePositionBias, SharesBucketsAmongFarDistances) {
  constexpr int64_t length = 140;
  Tensor buckets = at::arange(32, at::kFloat).view({32, 1});
  Tensor bias = computed(ops::RelativePositionBias{buckets, length, 128, at::kFloat})[0][0];
  auto of = [&](int64_t query, int64_t key) { return bias[query][key].item<double>(); };
  EXPECT_EQ(of(5, 5), 0);
  EXPECT_EQ(of(7, 0), 7);
  EXPECT_EQ(of(0, 7), 16 + 7);
  EXPECT_EQ(of(8, 0), 8);
  EXPECT_EQ(of(0, 12), 16 + 9);
  EXPECT_EQ(of(139, 0), 15);
  EXPECT_EQ(of(0, 139), 31);
}

TEST(RelativePositionBias, KeepsMaskedTokensFromAllQueries) {
  Tensor table = numbers({8, 2}), mask = at::ones({3, 4});
  mask[1][3] = 0;
  Tensor bias = computed(ops::RelativePositionBias{table, 4, 16, at::kFloat, &mask});
  Tensor plain = computed(ops::RelativePositionBias{table, 4, 16, at::kFloat});
  EXPECT_TRUE(bias[0].equal(plain[0]));
  EXPECT_TRUE(bias[1].narrow(2, 0, 3).equal(plain[0].narrow(2, 0, 3)));
  EXPECT_EQ(at::softmax(bias, -1)[1].select(2, 3).abs().max().item<float>(), 0);
}

TEST(RmsNorm, ScalesByTheRootMeanSquareInFp32) {
  Tensor x = 300 * numbers({2, 3, 8}), weight = numbers({8}, 2);
  Tensor wide = x.to(at::kDouble);
  Tensor expected = wide / (wide.square().mean(-1, true) + 1e-6).sqrt() * weight;
  expect_close(computed(ops::RmsNorm{x, weight, 1e-6}), expected);
  // Squares of these are beyond fp16.
  Tensor half = x.to(at::kHalf), half_weight = weight.to(at::kHalf);
  expect_close(computed(ops::RmsNorm{half, half_weight, 1e-6}), expected, 4e-3);
}

TEST(Gate, ScalesEachChannelAndAddsTheResidual) {
  Tensor x = numbers({2, 3, 4}), gate = numbers({2, 1, 4}, 2), residual = numbers({2, 3, 4}, 3);
  expect_close(computed(ops::Gate{x, gate}), x.to(at::kDouble) * gate);
  expect_close(computed(ops::Gate{x, gate, &residual}), x.to(at::kDouble) * gate + residual);
}

}  // namespace
}  // namespace omnirt::testing
