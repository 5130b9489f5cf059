#include "backends/cpu/simd/layer_norm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "backends/cpu/simd/each_target.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace omnirt::cpu {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr double eps = 1e-5;

// Rows at an odd address with room between them.
struct Problem {
  int64_t rows, width, stride;
  std::vector<float> x, y, weight, bias;

  Problem(int64_t r, int64_t w, float mean = 0.5f, float deviation = 2.0f)
      : rows(r), width(w), stride(w + 3) {
    std::mt19937 engine(5);
    std::normal_distribution<float> normal;
    x.resize(static_cast<size_t>(rows * stride + 1));
    for (float& value : x) value = mean + deviation * normal(engine);
    y.assign(x.size(), 77.0f);
    for (int64_t i = 0; i < width; ++i) {
      weight.push_back(1.0f + 0.5f * normal(engine));
      bias.push_back(normal(engine));
    }
  }

  void run(bool with_weight = true, bool with_bias = true) {
    layer_norm({x.data() + 1, with_weight ? weight.data() : nullptr,
                with_bias ? bias.data() : nullptr, y.data() + 1, rows, width, stride, stride, eps});
  }

  double worst_error(bool with_weight = true, bool with_bias = true) {
    double worst = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = x.data() + 1 + row * stride;
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < width; ++i) mean += from[i] / static_cast<double>(width);
      for (int64_t i = 0; i < width; ++i) squares += (from[i] - mean) * (from[i] - mean);
      const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(width) + eps);
      for (int64_t i = 0; i < width; ++i) {
        const size_t at = static_cast<size_t>(i);
        double want = (from[i] - mean) * inverse;
        if (with_weight) want *= weight[at];
        if (with_bias) want += bias[at];
        const double error = std::abs(y[static_cast<size_t>(1 + row * stride + i)] - want);
        worst = std::isnan(error) ? inf : std::max(worst, error);
      }
    }
    return worst;
  }
};

// Results reach about 10: a few roundings in single precision.
constexpr double tolerance = 4e-6;

TEST(LayerNorm, NormalisesEachRow) {
  each_target([&] {
    for (const int64_t width : {1, 2, 3, 15, 16, 17, 31, 33, 64, 77, 320, 640, 1280, 2048}) {
      for (const int64_t rows : {1, 3, 200}) {
        Problem problem(rows, width);
        problem.run();
        EXPECT_LT(problem.worst_error(), tolerance) << rows << " x " << width;
      }
    }
  });
}

TEST(LayerNorm, WorksWithoutWeightOrBias) {
  each_target([&] {
    for (const bool weight : {false, true}) {
      Problem problem(5, 45);
      problem.run(weight, !weight);
      EXPECT_LT(problem.worst_error(weight, !weight), tolerance);
    }
  });
}

TEST(LayerNorm, AMeanOfTenThousandDeviationsCostsNoDigits) {
  each_target([&] {
    for (const int64_t width : {40, 1281}) {
      Problem problem(20, width, 1e4f, 1.0f);
      problem.run();
      EXPECT_LT(problem.worst_error(), tolerance) << width;
    }
  });
}

TEST(LayerNorm, ANanOrAnInfinityMakesNanOfItsRowOnly) {
  each_target([&] {
    for (const float bad : {nan, inf, -inf}) {
      for (const int64_t at : {0, 30, 44}) {
        Problem problem(5, 45);
        problem.x[static_cast<size_t>(1 + 2 * problem.stride + at)] = bad;
        problem.run();
        for (int64_t row = 0; row < 5; ++row) {
          for (int64_t i = 0; i < 45; ++i) {
            const float value = problem.y[static_cast<size_t>(1 + row * problem.stride + i)];
            EXPECT_EQ(std::isnan(value), row == 2);
          }
        }
      }
    }
  });
}

TEST(LayerNorm, WritesOnlyItsRowsAndMayWriteOverItsInput) {
  each_target([&] {
    Problem problem(300, 101);
    problem.run();
    EXPECT_EQ(std::count(problem.y.begin(), problem.y.end(), 77.0f), 300 * 3 + 1);
    layer_norm({problem.x.data() + 1, problem.weight.data(), problem.bias.data(),
                problem.x.data() + 1, 300, 101, problem.stride, problem.stride, eps});
    for (int64_t row = 0; row < 300; ++row) {
      const auto at = 1 + row * problem.stride;
      EXPECT_TRUE(
          std::equal(problem.x.begin() + at, problem.x.begin() + at + 101, problem.y.begin() + at));
    }
  });
}

TEST(LayerNorm, TheNumberOfThreadsChangesNoBit) {
  const int before = team_size();
  Problem problem(500, 331);
  set_team_size(1);
  problem.run();
  const std::vector<float> want = problem.y;
  for (const int threads : {2, 5}) {
    set_team_size(threads);
    problem.run();
    EXPECT_EQ(problem.y, want);
  }
  set_team_size(before);
}

}  // namespace
}  // namespace omnirt::cpu
