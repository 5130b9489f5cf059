#include "backends/cpu/simd/rotary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attention_problem.hpp"
#include "backends/cpu/simd/each_target.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace omnirt::cpu {
namespace {

struct Problem {
  Tokens x, y;
  std::vector<float> cosines, sines;
  bool halves;

  Problem(const AttentionCase& c, bool as_halves)
      : x(c.batch, c.q_tokens, c.heads, c.dim, 1),
        y(c.batch, c.q_tokens, c.heads, c.dim, 2),
        halves(as_halves) {
    for (int64_t i = 0; i < c.q_tokens * (c.dim / 2); ++i) {
      cosines.push_back(std::cos(0.37f * static_cast<float>(i)));
      sines.push_back(std::sin(0.37f * static_cast<float>(i)));
    }
  }

  void run() {
    rotary({x.const_view(), y.view(), cosines.data(), sines.data(), x.batch, x.tokens, x.heads,
            x.dim, halves});
  }

  double worst_error() {
    double worst = 0;
    const int64_t half = x.dim / 2;
    for (int64_t b = 0; b < x.batch; ++b)
      for (int64_t t = 0; t < x.tokens; ++t)
        for (int64_t h = 0; h < x.heads; ++h)
          for (int64_t i = 0; i < half; ++i) {
            const int64_t first = halves ? i : 2 * i, second = halves ? i + half : 2 * i + 1;
            const double a = x.at(b, t, h, first), z = x.at(b, t, h, second);
            const double cosine = cosines[static_cast<size_t>(t * half + i)];
            const double sine = sines[static_cast<size_t>(t * half + i)];
            worst = std::max({worst, std::abs(y.at(b, t, h, first) - (a * cosine - z * sine)),
                              std::abs(y.at(b, t, h, second) - (z * cosine + a * sine))});
          }
    return worst;
  }
};

TEST(Rotary, TurnsEachPairOfEachHead) {
  const AttentionCase cases[] = {
      {1, 1, 2, 1, 0}, {2, 3, 6, 5, 0}, {1, 2, 64, 33, 0}, {2, 4, 74, 100, 0}, {1, 1, 128, 3, 0}};
  each_target([&] {
    for (const bool halves : {false, true}) {
      for (const AttentionCase& c : cases) {
        Problem problem(c, halves);
        problem.run();
        EXPECT_LT(problem.worst_error(), 1e-6) << "d " << c.dim << (halves ? " halves" : "");
      }
    }
  });
}

TEST(Rotary, TheNumberOfThreadsChangesNoBit) {
  const int before = team_size();
  Problem problem({2, 4, 64, 500, 0}, true);
  set_team_size(1);
  problem.run();
  const std::vector<float> want = problem.y.memory;
  set_team_size(3);
  problem.run();
  EXPECT_EQ(problem.y.memory, want);
  set_team_size(before);
}

}  // namespace
}  // namespace omnirt::cpu
