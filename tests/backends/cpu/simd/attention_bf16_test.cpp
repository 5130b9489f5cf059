#include <gtest/gtest.h>

#include "attention_problem.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "each_target.hpp"

namespace omnirt::cpu {
namespace {

using Case = AttentionCase;
using Problem = AttentionProblem;

// Scores up to about 5 are right to 2^-7 of themselves, as the values are.
constexpr double tolerance = 4e-2;

TEST(AttentionBf16, IsAttentionToBf16) {
  const Case cases[] = {{1, 1, 1, 1, 1},
                        {2, 3, 5, 7, 9},
                        {1, 2, 40, 33, 77},
                        {2, 1, 64, 64, 64},
                        {1, 2, 160, 17, 129},
                        {3, 2, 33, 129, 260},
                        {2, 2, 64, 77, 77, true},
                        {1, 3, 20, 1, 5, true},
                        {1, 1, 8, 300, 151, true},
                        {2, 6, 40, 70, 130, false, 3},
                        {1, 4, 64, 150, 150, true, 4}};
  each_target([&] {
    for (const Case& c : cases) {
      Problem problem(c);
      problem.run(attention_bf16);
      EXPECT_LT(problem.worst_error(), tolerance)
          << "d " << c.dim << " Tq " << c.q_tokens << " Tk " << c.k_tokens;
    }
  });
}

TEST(AttentionBf16, AddsABiasAndReadsNoKeyPastASamplesCount) {
  std::vector<float> bias(40 * 131);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i * 7 % 13) * 0.2f;
  const std::vector<int64_t> counts = {5, 131};
  each_target([&] {
    Problem problem({2, 2, 16, 40, 131});
    problem.args.bias = {bias.data(), 0, 0, 131, 1};
    problem.args.key_counts = counts.data();
    for (int64_t i = 0; i < 16; ++i) problem.v.at(0, 5, 1, i) = nan;
    problem.run(attention_bf16);
    EXPECT_LT(problem.worst_error(), tolerance);
  });
}

TEST(AttentionBf16, ANanReachesTheRowsThatTheFormulaSays) {
  each_target([&] {
    Problem query({1, 2, 40, 70, 150});
    query.q.at(0, 33, 1, 7) = nan;
    query.run(attention_bf16);
    for (int64_t row = 0; row < 70; ++row) {
      EXPECT_EQ(std::isnan(query.y.at(0, row, 1, 3)), row == 33);
      EXPECT_FALSE(std::isnan(query.y.at(0, row, 0, 3)));
    }
    Problem value({1, 2, 16, 40, 50});
    value.v.at(0, 20, 1, 5) = nan;
    value.run(attention_bf16);
    for (int64_t row = 0; row < 40; ++row) {
      EXPECT_TRUE(std::isnan(value.y.at(0, row, 1, 5)));
      EXPECT_FALSE(std::isnan(value.y.at(0, row, 1, 4)));
    }
  });
}

// Their keys and values fill the shared memory several times.
TEST(AttentionBf16, BitsDependOnNeitherThreadsNorBatch) {
  Problem both({2, 3, 40, 300, 20000});
  both.run(attention_bf16);
  Problem again = both;
  const int threads = team_size();
  set_team_size(threads == 1 ? 3 : 1);
  again.run(attention_bf16);
  set_team_size(threads);
  EXPECT_EQ(again.y.memory, both.y.memory);
  Problem one = both;
  one.args.batch = 1;
  one.run(attention_bf16);
  EXPECT_EQ(one.y.memory, both.y.memory);
}

}  // namespace
}  // namespace omnirt::cpu
