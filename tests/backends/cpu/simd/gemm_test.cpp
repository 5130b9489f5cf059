#include "backends/cpu/simd/gemm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/simd/gemm_fixture.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace omnirt::cpu {
namespace {

struct Case {
  int64_t m, n, k;
  WeightType type = WeightType::f32;
  Activation activation = Activation::none;
  bool bias = false, row_bias = false, residual = false, geglu = false, packed = false;
  int64_t padding = 0;  // of all row strides, in floats
  size_t shift = 0;     // of the weights' first byte
};

// A product's operands, of every kind, and where its result goes.
struct Operands {
  explicit Operands(const Case& c) : given(c) {
    const int64_t rows = c.geglu ? 2 * c.n : c.n;
    x = random_floats(c.m * (c.k + c.padding), 1);
    w = StoredWeights(random_floats(rows * c.k, 2), c.type, c.shift);
    bias = random_floats(rows, 3);
    row_bias = random_floats((c.m + 2) / 3 * c.n, 4);
    residual = random_floats(c.m * (c.n + c.padding), 5);
    y.assign(static_cast<size_t>(c.m * (c.n + c.padding)), 77.0f);
  }

  GemmArgs args() {
    GemmArgs args{given.m,
                  given.n,
                  given.k,
                  x.data(),
                  given.k + given.padding,
                  y.data(),
                  given.n + given.padding,
                  {}};
    if (given.bias) args.epilogue.bias = bias.data();
    if (given.row_bias) args.epilogue.row_bias = row_bias.data();
    args.epilogue.row_bias_stride = given.n;
    args.epilogue.rows_per_bias = 3;
    if (given.residual) args.epilogue.residual = residual.data();
    args.epilogue.residual_stride = given.n + given.padding;
    args.epilogue.activation = given.activation;
    args.epilogue.geglu = given.geglu;
    return args;
  }

  WeightView weight() const {
    return {w.data(), given.type, given.geglu ? 2 * given.n : given.n, given.k, 0};
  }

  void run() {
    if (given.packed) {
      gemm(args(), pack(weight(), given.geglu));
    } else {
      gemm(args(), weight());
    }
  }

  // The sum and the sum of magnitudes of one row of w with one row of x.
  std::pair<double, double> dot(int64_t row, int64_t w_row) const {
    double sum = 0, size = 0;
    for (int64_t k = 0; k < given.k; ++k) {
      const double term = static_cast<double>(x[row * (given.k + given.padding) + k]) *
                          static_cast<double>(w.values[w_row * given.k + k]);
      sum += term, size += std::abs(term);
    }
    if (given.bias) sum += bias[w_row];
    return {sum, size + 1};
  }

  std::pair<double, double> expected(int64_t row, int64_t column) const {
    auto [sum, size] = dot(row, column);
    if (given.geglu) {
      const auto [gate, gate_size] = dot(row, given.n + column);
      return {sum * activated(gate, Activation::gelu),
              size * (1 + std::abs(gate)) + 1.2 * gate_size * (1 + std::abs(sum))};
    }
    if (given.row_bias) sum += row_bias[row / 3 * given.n + column];
    if (given.residual) sum += residual[row * (given.n + given.padding) + column];
    return {activated(sum, given.activation), size + std::abs(sum)};
  }

  Case given;
  StoredWeights w;
  std::vector<float> x, bias, row_bias, residual, y;
};

// A chain of k multiply-adds in single precision errs by at most k half units in the last place of
// the sum of magnitudes, and by about the root of that where signs vary; activations are
// Lipschitz (1.2 at most) and add a few units of their own.
double tolerance(int64_t k, double size) {
  return 1.2e-7 * size * (4 + std::sqrt(static_cast<double>(k)));
}

void expect_right(const Case& c) {
  Operands o(c);
  o.run();
  int wrong = 0;
  for (int64_t row = 0; row < c.m; ++row) {
    for (int64_t column = 0; column < c.n + c.padding; ++column) {
      const float y = o.y[row * (c.n + c.padding) + column];
      if (column >= c.n) {
        wrong += y != 77.0f;  // between the rows nothing is written
        continue;
      }
      const auto [value, size] = o.expected(row, column);
      if (!(std::abs(y - value) <= tolerance(c.k, size)) && wrong++ == 0) {
        ADD_FAILURE() << "y[" << row << "][" << column << "] is " << y << ", expected " << value;
      }
    }
  }
  EXPECT_EQ(wrong, 0) << "m " << c.m << " n " << c.n << " k " << c.k << " type "
                      << static_cast<int>(c.type) << " activation "
                      << static_cast<int>(c.activation) << " geglu " << c.geglu << " packed "
                      << c.packed;
}

class Gemm : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Gemm, testing::ValuesIn(machine_targets()), target_name);

TEST_P(Gemm, AgreesWithDoublePrecisionOverSizes) {
  for (const int64_t m : {1, 2, 3, 13, 14, 15, 29}) {
    for (const int64_t n : {1, 3, 4, 15, 16, 17, 31, 33, 70}) {
      for (const int64_t k : {1, 2, 5, 36, 320}) expect_right({m, n, k});
    }
  }
}

TEST_P(Gemm, AgreesWhenTheInnerIndexIsCutIntoBlocks) {
  for (const int64_t k : {433, 700, 1283, 2600}) {
    expect_right({19, 45, k});
    expect_right({3, 9, k, WeightType::bf16, Activation::silu, true, true, true});
    expect_right({19, 45, k, WeightType::f32, Activation::none, true, false, false, true});
    expect_right({5, 40, k, WeightType::f16, Activation::none, true, true, true, false, true});
  }
}

TEST_P(Gemm, AgreesWithManyRowsAndColumns) {
  expect_right({1000, 40, 24});
  expect_right({600, 150, 450, WeightType::f16, Activation::none, true});
  expect_right({7, 1500, 30});
}

TEST_P(Gemm, TakesAllWeightTypesAtAnyByte) {
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16}) {
    for (const size_t shift : {0, 1, 2, 3, 6}) {
      for (const bool packed : {false, true}) {
        Case c{17, 39, 77, type, Activation::none, true};
        c.shift = shift, c.packed = packed;
        expect_right(c);
      }
    }
  }
}

TEST_P(Gemm, AppliesEachPartOfTheEpilogue) {
  for (const Activation activation :
       {Activation::none, Activation::silu, Activation::gelu, Activation::gelu_tanh,
        Activation::quick_gelu, Activation::relu, Activation::leaky_relu}) {
    for (int parts = 0; parts < 8; ++parts) {
      Case c{10,
             37,
             20,
             WeightType::f32,
             activation,
             (parts & 1) > 0,
             (parts & 2) > 0,
             (parts & 4) > 0};
      expect_right(c);
      c.padding = 5;
      expect_right(c);
    }
  }
}

TEST_P(Gemm, ComputesGegluWithoutTheWideTensor) {
  for (const int64_t n : {1, 16, 33, 96}) {
    for (const bool packed : {false, true}) {
      for (const bool bias : {false, true}) {
        expect_right(
            {21, n, 50, WeightType::f16, Activation::none, bias, false, false, true, packed, 3});
      }
    }
  }
}

TEST_P(Gemm, AddsAResidualThatIsTheResultItself) {
  for (const int64_t k : {40, 1000}) {
    Case c{50, 70, k, WeightType::f32, Activation::none, true, false, true};
    Operands apart(c), same(c);
    apart.run();
    same.y = same.residual;
    GemmArgs args = same.args();
    args.epilogue.residual = same.y.data();
    gemm(args, same.weight());
    EXPECT_EQ(apart.y, same.y);
  }
}

TEST_P(Gemm, GivesTheSameBitsForAnyThreadsRowsAndPacking) {
  const int before = team_size();
  for (const Case& c : {Case{200, 200, 300}, Case{200, 100, 1000, WeightType::f16}}) {
    Operands reference(c);
    set_team_size(1);
    reference.run();
    for (const int threads : {2, 3}) {
      set_team_size(threads);
      for (const bool packed : {false, true}) {
        Operands other(c);
        other.given.packed = packed;
        other.run();
        EXPECT_EQ(other.y, reference.y);
      }
    }
    set_team_size(1);
    for (int64_t first = 0, rows = 1; first < c.m; first += rows, ++rows) {
      Operands part(c);
      GemmArgs args = part.args();
      args.x += first * args.x_stride;
      args.m = std::min(rows, c.m - first);
      gemm(args, part.weight());
      EXPECT_TRUE(std::equal(part.y.begin(), part.y.begin() + args.m * c.n,
                             reference.y.begin() + first * c.n));
    }
  }
  set_team_size(before);
}

TEST_P(Gemm, PassesNanAndInfinityToJustTheRowsOrColumnsThatHoldThem) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, inf, -inf}) {
    for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16}) {
      Operands o({30, 50, 37, type});
      o.x[12 * 37 + 5] = bad;
      std::vector<float> w = o.w.values;
      w[20 * 37 + 3] = bad;
      o.w = StoredWeights(w, type, 0);
      o.run();
      for (int64_t row = 0; row < 30; ++row) {
        for (int64_t column = 0; column < 50; ++column) {
          EXPECT_EQ(std::isfinite(o.y[row * 50 + column]), row != 12 && column != 20);
          const bool nan_here = std::isnan(o.y[row * 50 + column]);
          EXPECT_TRUE(!std::isnan(bad) || nan_here == (row == 12 || column == 20));
        }
      }
    }
  }
}

TEST_P(Gemm, HandlesEmptyProducts) {
  expect_right({0, 5, 5});
  expect_right({5, 0, 5});
  expect_right({5, 40, 0, WeightType::f32, Activation::none, true});
}

TEST_P(Gemm, SaysWhatAPackedMatrixTakes) {
  const std::vector<float> w = random_floats(100 * 50, 1);
  const PackedMatrix packed = pack({w.data(), WeightType::f32, 100, 50, 0});
  EXPECT_EQ(packed.bytes(), packed_bytes(100, 50));
  EXPECT_GE(packed.bytes(), 100 * 50 * sizeof(float));
  EXPECT_LE(packed.bytes(), 128 * 50 * sizeof(float));
}

}  // namespace
}  // namespace omnirt::cpu
