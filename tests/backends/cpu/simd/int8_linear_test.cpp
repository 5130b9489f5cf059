#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "int8_cases.hpp"

namespace omnirt::cpu {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Int8Product, GivesTheIntegersOfTheScalarSumOnEveryTarget) {
  Numbers numbers(1);
  constexpr size_t k = 192, stride = k + 64, most_rows = 64, c_stride = int8_panel + 16;
  std::vector<uint8_t> a(most_rows * stride);
  std::vector<int8_t> b(k * int8_panel);
  for (auto& v : a) v = static_cast<uint8_t>(numbers.bits());
  for (auto& v : b) v = static_cast<int8_t>(static_cast<int>(numbers.bits() % 255) - 127);
  // The extremes, where a product of bytes that saturates would show.
  std::fill_n(a.begin(), k, uint8_t{255});
  for (size_t p = 0; p < k; ++p) b[p / 4 * 128 + p % 4] = p < 96 ? 127 : 126;
  for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
    for (size_t rows = 1; rows <= kernels.rows; ++rows)
      for (const bool accumulate : {false, true}) {
        std::vector<int32_t> c(most_rows * c_stride, 7);
        if (kernels.begin) kernels.begin();
        kernels.product(rows, a.data(), stride, b.data(), k, c.data(), c_stride, accumulate);
        if (kernels.end) kernels.end();
        for (size_t r = 0; r < rows; ++r)
          for (size_t n = 0; n < int8_panel; ++n) {
            int32_t sum = accumulate ? 7 : 0;
            for (size_t p = 0; p < k; ++p)
              sum += a[r * stride + p] * b[p / 4 * 128 + n * 4 + p % 4];
            ASSERT_EQ(c[r * c_stride + n], sum) << target << " rows " << rows << " at " << r;
          }
      }
  });
}

struct LinearCase {
  int64_t m, n, k;
  bool gated = false;
  Activation activation = Activation::none;
  bool bias = true, residual = false, row_bias = false;
};

// One product with all that its case asks for, in memory whose alignment is odd.
struct LinearRun {
  LinearRun(const LinearCase& linear, uint32_t seed)
      : shape(linear), rows(linear.gated ? 2 * linear.n : linear.n) {
    Numbers numbers(seed);
    x = numbers.take(1 + shape.m * x_stride());
    w = numbers.take(rows * shape.k);
    bias = numbers.take(rows);
    residual = numbers.take(1 + shape.m * y_stride());
    row_bias = numbers.take((shape.m + 2) / 3 * shape.n);
    packed = pack_int8({w.data(), WeightType::f32, rows, shape.k}, shape.gated);
  }
  int64_t x_stride() const { return shape.k + 3; }
  int64_t y_stride() const { return shape.n + 1; }

  GemmArgs args() const {
    GemmArgs args{shape.m, shape.n, shape.k, x.data() + 1, x_stride(), nullptr, y_stride(), {}};
    Epilogue& e = args.epilogue;
    e.geglu = shape.gated;
    e.activation = shape.activation;
    if (shape.bias) e.bias = bias.data();
    if (shape.residual) e.residual = residual.data() + 1, e.residual_stride = y_stride();
    if (shape.row_bias)
      e.row_bias = row_bias.data(), e.row_bias_stride = shape.n, e.rows_per_bias = 3;
    return args;
  }

  std::vector<float> run(const Int8Kernels& kernels) const {
    std::vector<float> y(static_cast<size_t>(1 + shape.m * y_stride()), -77.0f);
    GemmArgs all = args();
    all.y = y.data() + 1;
    int8_linear(kernels, all, packed);
    std::vector<float> result;
    for (int64_t m = 0; m < shape.m; ++m) {
      const float* row = y.data() + 1 + m * y_stride();
      result.insert(result.end(), row, row + shape.n);
      EXPECT_EQ(row[shape.n], -77.0f) << "written past row " << m;
    }
    return result;
  }

  std::vector<float> x_row(int64_t m) const {
    const float* from = x.data() + 1 + m * x_stride();
    return {from, from + shape.k};
  }

  // rounded: of the rounded numbers; else of the given ones.
  std::vector<double> expect(bool rounded) const {
    std::vector<std::vector<double>> weights;
    for (int64_t n = 0; n < rows; ++n) {
      const float* from = w.data() + n * shape.k;
      weights.push_back(rounded ? round_weights(from, static_cast<size_t>(shape.k))
                                : std::vector<double>(from, from + shape.k));
    }
    std::vector<double> result;
    for (int64_t m = 0; m < shape.m; ++m) {
      const std::vector<float> given = x_row(m);
      const RoundedRow row = round_row(given);
      std::vector<double> values(given.begin(), given.end());
      for (size_t i = 0; rounded && i < values.size(); ++i) values[i] = row.value(i);
      for (int64_t n = 0; n < shape.n; ++n) result.push_back(output(values, weights, m, n));
    }
    return result;
  }

  double output(const std::vector<double>& values, const std::vector<std::vector<double>>& weights,
                int64_t m, int64_t n) const {
    const auto sum = [&](int64_t row) {
      double total = shape.bias ? bias[static_cast<size_t>(row)] : 0;
      for (size_t i = 0; i < values.size(); ++i)
        total += values[i] * weights[static_cast<size_t>(row)][i];
      return total;
    };
    if (shape.gated) return sum(n) * activate(Activation::gelu, sum(n + shape.n));
    double total = sum(n);
    if (shape.row_bias) total += row_bias[static_cast<size_t>(m / 3 * shape.n + n)];
    if (shape.residual) total += residual[static_cast<size_t>(1 + m * y_stride() + n)];
    return activate(shape.activation, total);
  }

  LinearCase shape;
  int64_t rows;
  std::vector<float> x, w, bias, residual, row_bias;
  PackedInt8 packed;
};

const LinearCase linear_cases[] = {
    {1, 1, 1},
    {2, 33, 65, false, Activation::silu},
    {5, 7, 3, false, Activation::none, false},
    {31, 64, 128, false, Activation::gelu, true, true},
    {33, 31, 100, false, Activation::none, true, true, true},
    {14, 40, 1100, false, Activation::quick_gelu},
    {70, 96, 2050, false, Activation::none, true, true},
    {17, 32, 320, false, Activation::gelu_tanh, false, true},
    {9, 35, 64, false, Activation::relu},
    {9, 35, 64, false, Activation::leaky_relu},
    {6, 45, 77, true},
    {40, 64, 1500, true, Activation::none, false},
    {300, 70, 30},
};

// Sums are exact, so what is left is the rounding of the scales' products and of the epilogue: a
// few units in the last place of the terms, which the inner length bounds loosely (terms ~ 1).
TEST(Int8Linear, AgreesWithTheRoundedMathsOnEveryTarget) {
  uint32_t seed = 1;
  for (const LinearCase& linear : linear_cases) {
    const LinearRun run(linear, ++seed);
    const std::vector<double> expected = run.expect(true);
    for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
      const std::vector<float> y = run.run(kernels);
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i], expected[i], 2e-6 * (std::abs(expected[i]) + std::sqrt(linear.k) + 4))
            << target << " " << linear.m << "x" << linear.n << "x" << linear.k << " at " << i;
    });
  }
}

// Rounding near-normal numbers to 8 bits leaves about 43 dB for activations and weights each; the
// sum over the inner dimension keeps the ratio.
TEST(Int8Linear, StaysWithin38DecibelsOfTheUnroundedProduct) {
  for (const LinearCase& linear : {LinearCase{33, 64, 320}, LinearCase{20, 40, 1280}}) {
    const LinearRun run(linear, 5);
    EXPECT_GT(decibels(run.expect(false), run.run(int8_kernels())), 38);
  }
}

TEST(Int8Linear, GivesARowTheSameBitsWhateverTheBatchAndTheThreads) {
  const int before = team_size();
  LinearRun run({600, 96, 1100, false, Activation::silu}, 3);
  for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
    if (target == "Scalar" || target == "Emu128") return;  // slow, and the driver is the same
    set_team_size(1);
    const std::vector<float> all = run.run(kernels);
    for (const int threads : {2, 7}) {
      set_team_size(threads);
      EXPECT_EQ(run.run(kernels), all) << target;
    }
    const int64_t rows = std::exchange(run.shape.m, 3);
    EXPECT_EQ(run.run(kernels), std::vector<float>(all.begin(), all.begin() + 3 * 96)) << target;
    run.shape.m = rows;
  });
  set_team_size(before);
}

TEST(Int8Linear, TurnsARowThatHoldsANanOrAnInfinityIntoNanAndNoOther) {
  LinearRun run({40, 35, 130}, 4);
  for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
    const std::vector<float> sound = run.run(kernels);
    for (const float bad : {nan, infinity, -infinity})
      for (const int64_t place : {0, 64, 129}) {
        const size_t at = static_cast<size_t>(1 + 17 * run.x_stride() + place);
        const float good = std::exchange(run.x[at], bad);
        const std::vector<float> y = run.run(kernels);
        run.x[at] = good;
        for (size_t i = 0; i < y.size(); ++i) {
          if (i / 35 == 17)
            ASSERT_TRUE(std::isnan(y[i])) << target;
          else
            ASSERT_EQ(y[i], sound[i]) << target;
        }
      }
  });
}

TEST(Int8Linear, TakesRowsOfZerosAndOfTheSmallestAndLargestNumbers) {
  LinearRun run({4, 40, 70}, 6);
  const auto fill = [&](int64_t row, float value) {
    for (int64_t k = 0; k < 70; ++k)
      run.x[static_cast<size_t>(1 + row * run.x_stride() + k)] = k % 2 ? value : -value;
  };
  fill(0, 0.0f);
  fill(1, 1e-42f);
  fill(2, 1e30f);
  fill(3, std::numeric_limits<float>::max());
  const std::vector<double> expected = run.expect(true);
  for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
    const std::vector<float> y = run.run(kernels);
    for (size_t n = 0; n < 40; ++n) {
      EXPECT_EQ(y[n], run.bias[n]) << target;
      EXPECT_EQ(y[40 + n], run.bias[n]) << target;
      EXPECT_NEAR(y[80 + n] / expected[80 + n], 1, 1e-5) << target;
    }
  });
}

TEST(Int8Linear, WritesOverItsOwnResidual) {
  const LinearRun run({37, 50, 64, false, Activation::none, true, true}, 7);
  std::vector<float> y = run.residual;
  GemmArgs args = run.args();
  args.y = y.data() + 1;
  args.epilogue.residual = args.y;
  int8_linear(args, run.packed);
  const std::vector<float> expected = run.run(int8_kernels());
  for (int64_t m = 0; m < 37; ++m)
    for (int64_t n = 0; n < 50; ++n)
      ASSERT_EQ(args.y[m * run.y_stride() + n], expected[static_cast<size_t>(m * 50 + n)]);
}

TEST(Int8Linear, RefusesAWeightOfOtherSizesOrGating) {
  const LinearRun run({2, 32, 64}, 8);
  GemmArgs args = run.args();
  std::vector<float> y(100);
  args.y = y.data();
  args.k = 63;
  EXPECT_THROW(int8_linear(args, run.packed), InternalError);
  args = run.args();
  args.epilogue.geglu = true;
  EXPECT_THROW(int8_linear(args, run.packed), InternalError);
}

}  // namespace
}  // namespace omnirt::cpu
