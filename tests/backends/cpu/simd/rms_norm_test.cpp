#include "backends/cpu/simd/rms_norm.hpp"

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

constexpr double eps = 1e-6;

// Stretches at an odd address with room between them.
struct Problem {
  int64_t rows, parts, width, stride;
  std::vector<float> x, y, weight;

  Problem(int64_t r, int64_t p, int64_t w) : rows(r), parts(p), width(w), stride(p * w + 3) {
    std::mt19937 engine(5);
    std::normal_distribution<float> normal;
    x.resize(static_cast<size_t>(rows * stride + 1));
    for (float& value : x) value = 3.0f * normal(engine);
    y.assign(static_cast<size_t>(rows * parts * width), 77.0f);
    for (int64_t i = 0; i < width; ++i) weight.push_back(1.0f + 0.5f * normal(engine));
  }
  const float* row(int64_t index, int64_t part) const {
    return x.data() + 1 + index * stride + part * width;
  }
  void run() { rms_norm({x.data() + 1, weight.data(), y.data(), rows, parts, width, stride, eps}); }

  double worst_error() {
    double worst = 0;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t p = 0; p < parts; ++p) {
        double squares = 0;
        for (int64_t i = 0; i < width; ++i) squares += double(row(r, p)[i]) * row(r, p)[i];
        const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(width) + eps);
        for (int64_t i = 0; i < width; ++i) {
          const double want = row(r, p)[i] * inverse * weight[static_cast<size_t>(i)];
          const float got = y[static_cast<size_t>((r * parts + p) * width + i)];
          worst = std::max(worst, std::abs(got - want));
        }
      }
    }
    return worst;
  }
};

TEST(RmsNorm, DividesEachRowByItsRootMeanSquare) {
  each_target([&] {
    for (const int64_t width : {1, 3, 16, 31, 64, 128, 2560}) {
      for (const auto& [rows, parts] : {std::pair<int64_t, int64_t>{1, 1}, {7, 3}, {200, 2}}) {
        Problem problem(rows, parts, width);
        problem.run();
        EXPECT_LT(problem.worst_error(), 4e-6) << rows << " x " << parts << " x " << width;
      }
    }
  });
}

TEST(RmsNorm, ANanMakesNanOfItsRowOnly) {
  each_target([&] {
    Problem problem(3, 2, 45);
    problem.x[static_cast<size_t>(1 + problem.stride + 45 + 7)] =
        std::numeric_limits<float>::quiet_NaN();
    problem.run();
    for (size_t i = 0; i < problem.y.size(); ++i)
      EXPECT_EQ(std::isnan(problem.y[i]), i / 45 == 3) << i;
  });
}

TEST(RmsNorm, TheNumberOfThreadsChangesNoBit) {
  const int before = team_size();
  Problem problem(500, 2, 331);
  set_team_size(1);
  problem.run();
  const std::vector<float> want = problem.y;
  set_team_size(3);
  problem.run();
  EXPECT_EQ(problem.y, want);
  set_team_size(before);
}

}  // namespace
}  // namespace omnirt::cpu
