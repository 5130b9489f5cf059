#include "base/error.hpp"
#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

using ops::Activation;

TEST(Linear, IsTheProductOfItsDefinition) {
  for (const std::vector<int64_t>& lead : {std::vector<int64_t>{1}, {3}, {2, 5}, {2, 1, 4}}) {
    for (auto [in, out] : {std::pair<int64_t, int64_t>{1, 1}, {7, 5}, {32, 64}}) {
      std::vector<int64_t> from = lead, to = lead;
      from.push_back(in);
      to.push_back(out);
      Tensor x = numbers(from), weight = numbers({out, in}, 2), bias = numbers({out}, 3);
      Tensor residual = numbers(to, 4), before = residual.clone();
      Tensor product = at::matmul(x.to(at::kDouble), weight.to(at::kDouble).t());
      expect_close(computed(ops::Linear{x, weight}), product);
      expect_close(computed(ops::Linear{x, weight, &bias, Activation::quick_gelu}),
                   ops::activate(product + bias, Activation::quick_gelu));
      expect_close(computed(ops::Linear{x, weight, &bias, Activation::none, &residual}),
                   product + bias + residual);
      EXPECT_TRUE(residual.equal(before));
    }
  }
}

TEST(Linear, TakesInputsOfAnyLayout) {
  Tensor x = numbers({3, 6, 4, 5}).permute({0, 2, 3, 1}), weight = numbers({2, 6}, 2);
  expect_close(computed(ops::Linear{x, weight}), computed(ops::Linear{x.contiguous(), weight}));
}

TEST(Linear, WidensAWeightThatIsStoredInANarrowerType) {
  Tensor x = numbers({3, 7}), weight = numbers({5, 7}, 2), bias = numbers({5}, 3);
  for (at::ScalarType stored : {at::kHalf, at::kBFloat16}) {
    Tensor narrow = weight.to(stored), wide = narrow.to(at::kFloat);
    EXPECT_TRUE(
        computed(ops::Linear{x, narrow, &bias}).equal(ops::Linear::reference({x, wide, &bias})));
  }
}

TEST(GatedLinear, GatesOneHalfByTheOther) {
  Tensor x = numbers({2, 3, 7}), weight = numbers({10, 7}, 2), bias = numbers({10}, 3);
  Tensor both = at::matmul(x.to(at::kDouble), weight.to(at::kDouble).t()) + bias;
  auto halves = both.chunk(2, -1);
  expect_close(computed(ops::GatedLinear{x, weight, &bias}),
               halves[0] * ops::activate(halves[1], Activation::gelu));
}

TEST(Embedding, IsInTheTypeThatIsAskedFor) {
  Tensor table = numbers({10, 4}).to(at::kHalf), ids = at::tensor({3, 0}, at::kLong);
  Tensor rows = computed(ops::Embedding{ids, table, at::kFloat});
  EXPECT_EQ(rows.scalar_type(), at::kFloat);
  EXPECT_TRUE(rows[0].equal(table[3].to(at::kFloat)));
}

TEST(GroupNorm, NormalisesEachGroupOfEachSample) {
  for (auto [batch, channels, groups, height, width] : {std::array<int64_t, 5>{1, 4, 4, 1, 3},
                                                        {2, 8, 4, 5, 3},
                                                        {1, 32, 8, 4, 4},
                                                        {2, 6, 1, 2, 2}}) {
    Tensor x = 3 * numbers({batch, channels, height, width}) + 5;
    Tensor weight = numbers({channels}, 2), bias = numbers({channels}, 3);
    Tensor wide = x.to(at::kDouble).reshape({batch, groups, -1});
    Tensor mean = wide.mean(-1, true), variance = wide.var(-1, /*unbiased=*/false, true);
    for (double eps : {1e-6, 1e-5, 0.5}) {
      Tensor plain = ((wide - mean) / (variance + eps).sqrt()).reshape(x.sizes());
      Tensor affine = plain * weight.view({1, -1, 1, 1}) + bias.view({1, -1, 1, 1});
      ops::GroupNorm args{x, &weight, &bias, groups, eps};
      expect_close(computed(args), affine, 1e-5);  // the mean is larger than what is left of it
      args.activation = Activation::silu;
      expect_close(computed(args), ops::activate(affine, Activation::silu), 1e-5);
      expect_close(computed(ops::GroupNorm{channels_last(x), nullptr, nullptr, groups, eps}), plain,
                   1e-5);
    }
  }
}

TEST(GroupNorm, LosesNoDigitsOfSmallDifferencesInAnyOrder) {
  for (int64_t width : {1, 2, 3}) {
    Tensor x = 0.002 * numbers({1, 8, 1, width}) + 1;
    Tensor wide = x.to(at::kDouble).reshape({1, 4, -1});
    Tensor mean = wide.mean(-1, true), variance = wide.var(-1, /*unbiased=*/false, true);
    Tensor plain = ((wide - mean) / (variance + 1e-5).sqrt()).reshape(x.sizes());
    // x - mean has 14 bits fewer than x.
    for (const Tensor& each : {x, channels_last(x)})
      expect_close(computed(ops::GroupNorm{each, nullptr, nullptr, 4, 1e-5}), plain, 1e-4);
  }
}

TEST(LayerNorm, NormalisesTheLastDimension) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1, 4}, {2, 3, 16}, {2, 2, 2, 33}}) {
    Tensor x = 2 * numbers(shape) - 3, weight = numbers({shape.back()}, 2);
    Tensor bias = numbers({shape.back()}, 3), wide = x.to(at::kDouble);
    Tensor plain =
        (wide - wide.mean(-1, true)) / (wide.var(-1, /*unbiased=*/false, true) + 1e-5).sqrt();
    expect_close(computed(ops::LayerNorm{x, &weight, &bias, 1e-5}), plain * weight + bias, 1e-5);
    expect_close(computed(ops::LayerNorm{x, nullptr, nullptr, 1e-5}), plain, 1e-5);
  }
}

TEST(Embedding, GivesTheRowsOfItsTable) {
  Tensor table = numbers({10, 4}), ids = at::tensor({3, 0, 9, 3}, at::kLong).view({2, 2});
  Tensor rows = computed(ops::Embedding{ids, table});
  EXPECT_TRUE(rows[0][1].equal(table[0]));
  EXPECT_TRUE(rows[1][0].equal(table[9]));
  EXPECT_TRUE(rows[0][0].equal(rows[1][1]));
}

TEST(TimestepEmbedding, IsWavesOfFallingFrequency) {
  Tensor t = at::tensor({0.0f, 1.0f, 570.857f, 999.0f});
  for (int64_t dim : {2, 7, 32}) {
    for (double shift : {0.0, 0.5}) {
      int64_t half = dim / 2;
      Tensor frequency =
          at::exp(-std::log(10000.0) * at::arange(half, at::kDouble) / (half - shift));
      Tensor angle = t.to(at::kDouble).unsqueeze(1) * frequency.unsqueeze(0);
      Tensor odd = at::zeros({4, dim % 2}, at::kDouble);
      // Sines of some hundred radians feel the rounding of fp32 arguments.
      expect_close(computed(ops::TimestepEmbedding{t, dim, false, shift}),
                   at::cat({angle.sin(), angle.cos(), odd}, 1), 1e-4);
      expect_close(computed(ops::TimestepEmbedding{t, dim, true, shift}),
                   at::cat({angle.cos(), angle.sin(), odd}, 1), 1e-4);
    }
  }
}

TEST(TimestepEmbedding, IsInFullPrecisionWhateverComesIn) {
  Tensor t = at::tensor({999.0f}).to(at::kHalf);
  EXPECT_EQ(computed(ops::TimestepEmbedding{t, 4, true, 0}).scalar_type(), at::kFloat);
}

TEST(Linear, IsRefusedWhereItsSizesDoNotFit) {
  Tensor x = numbers({2, 3, 5}), weight = numbers({4, 5}, 2), bias = numbers({4}, 3);
  Tensor wide = numbers({4, 7}, 2), short_bias = numbers({3}, 3);
  EXPECT_NO_THROW(ops::Linear::shape({x, weight, &bias}));
  EXPECT_THROW(ops::Linear::shape({x, wide}), InternalError);
  EXPECT_THROW(ops::Linear::shape({x, weight, &short_bias}), InternalError);
  EXPECT_THROW(ops::GatedLinear::shape({x, wide}), InternalError);
}

}  // namespace
}  // namespace omnirt::testing
