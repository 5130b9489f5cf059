#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

using ops::Rotary;
using ops::RotaryPairs;
using ops::RotaryTable;

TEST(RotaryTable, TellsTheAngleOfEachPairOnItsAxis) {
  Tensor positions = at::arange(15, at::kFloat).view({5, 3}).remainder(7);
  for (bool wide : {false, true}) {
    Tensor table = computed(RotaryTable{positions, {4, 2, 6}, 100.0, wide});
    Tensor expected = at::empty({2, 5, 6}, at::kDouble);
    const int64_t axis_of[] = {0, 0, 1, 2, 2, 2}, pair_of[] = {0, 1, 0, 0, 1, 2};
    const double dims[] = {4, 2, 6};
    for (int64_t t = 0; t < 5; ++t) {
      for (int64_t i = 0; i < 6; ++i) {
        double at = positions[t][axis_of[i]].item<double>();
        double angle = at / std::pow(100.0, 2.0 * double(pair_of[i]) / dims[axis_of[i]]);
        expected[0][t][i] = std::cos(angle);
        expected[1][t][i] = std::sin(angle);
      }
    }
    expect_close(table, expected);
  }
}

// The references' own words: x cos + rotated sin, where the table holds each angle twice.
TEST(Rotary, TurnsHalvesAsTransformersDoes) {
  Tensor x = numbers({2, 5, 3, 8}), angle = 3 * numbers({5, 4}, 2);
  Tensor y = computed(Rotary{x, at::stack({angle.cos(), angle.sin()}), RotaryPairs::halves});
  Tensor twice = at::cat({angle, angle}, 1).unsqueeze(1).to(at::kDouble);
  Tensor rotated = at::cat({-x.narrow(3, 4, 4), x.narrow(3, 0, 4)}, 3);
  expect_close(y, x * twice.cos() + rotated * twice.sin());
}

TEST(Rotary, TurnsNeighboursAsDiffusersDoes) {
  Tensor x = numbers({2, 5, 3, 8}), angle = 3 * numbers({5, 4}, 2);
  Tensor y = computed(Rotary{x, at::stack({angle.cos(), angle.sin()}), RotaryPairs::neighbours});
  Tensor twice = angle.repeat_interleave(2, 1).unsqueeze(1).to(at::kDouble);
  Tensor pairs = x.unflatten(3, {4, 2});
  Tensor rotated = at::stack({-pairs.select(4, 1), pairs.select(4, 0)}, -1).flatten(3);
  expect_close(y, x * twice.cos() + rotated * twice.sin());
}

TEST(Rotary, ComputesInFp32WhateverTheDtype) {
  Tensor x = numbers({1, 3, 2, 6}).to(at::kBFloat16), angle = numbers({3, 3}, 2);
  Tensor table = at::stack({angle.cos(), angle.sin()}), wide = x.to(at::kFloat);
  Tensor y = computed(Rotary{x, table, RotaryPairs::halves});
  EXPECT_TRUE(y.equal(computed(Rotary{wide, table, RotaryPairs::halves}).to(at::kBFloat16)));
}

TEST(Swiglu, GatesTheSecondHalfByTheFirst) {
  Tensor x = numbers({2, 3, 10}), wide = x.to(at::kDouble);
  Tensor a = wide.narrow(2, 0, 5), b = wide.narrow(2, 5, 5);
  expect_close(computed(ops::Swiglu{x}), a * at::sigmoid(a) * b);
}

}  // namespace
}  // namespace omnirt::testing
