#include "backends/cpu/simd/split_attention.hpp"

#include "attention_problem.hpp"
#include "split_ways.hpp"

namespace omnirt::cpu {
namespace {

using Case = AttentionCase;
using Problem = AttentionProblem;

// Scores up to about 5 are right to 2e-5, their exponentials likewise, and values are of order 1.
constexpr double tolerance = 1e-4;

TEST(SplitAttention, IsSoftmaxOfScaledScoresTimesValues) {
  const Case cases[] = {{1, 1, 1, 1, 1},      {2, 3, 5, 7, 9},      {1, 2, 40, 33, 77},
                        {2, 1, 64, 64, 64},   {1, 1, 80, 31, 128},  {1, 2, 160, 17, 129},
                        {1, 1, 512, 40, 300}, {3, 2, 33, 129, 260}, {1, 1, 42, 300, 15}};
  for_each_way([&](const SplitKernels& kernels) {
    for (const Case& c : cases) {
      Problem problem(c);
      problem.run([&](const AttentionArgs& args) { attention_split(kernels, args); });
      EXPECT_LT(problem.worst_error(), tolerance)
          << "d " << c.dim << " Tq " << c.q_tokens << " Tk " << c.k_tokens;
    }
  });
}

// Scores up to about 5 are right to 2^-7 of themselves, as the values are.
TEST(RoundedAttention, IsTheSameToBf16) {
  for_each_way(
      [&](const SplitKernels& kernels) {
        for (const Case& c : {Case{2, 3, 5, 7, 9}, Case{1, 2, 40, 33, 77}, Case{1, 2, 160, 17, 129},
                              Case{3, 2, 33, 129, 260}, Case{2, 6, 40, 70, 130, false, 3}}) {
          Problem problem(c);
          problem.run([&](const AttentionArgs& args) { attention_split(kernels, args); });
          EXPECT_LT(problem.worst_error(), 4e-2)
              << "d " << c.dim << " Tq " << c.q_tokens << " Tk " << c.k_tokens;
        }
      },
      true);
}

TEST(RoundedAttention, ANanReachesTheQueriesThatSeeIt) {
  for_each_way(
      [&](const SplitKernels& kernels) {
        Problem query({1, 1, 8, 40, 50});
        query.q.at(0, 7, 0, 3) = nan;
        query.run([&](const AttentionArgs& args) { attention_split(kernels, args); });
        for (int64_t row = 0; row < 40; ++row)
          EXPECT_EQ(std::isnan(query.y.at(0, row, 0, 0)), row == 7);
      },
      true);
}

TEST(SplitAttention, HeadsOfQueriesShareHeadsOfKeys) {
  for_each_way([&](const SplitKernels& kernels) {
    Problem problem({2, 6, 40, 70, 130, false, 3});
    problem.run([&](const AttentionArgs& args) { attention_split(kernels, args); });
    EXPECT_LT(problem.worst_error(), tolerance);
  });
}

TEST(SplitAttention, ManyHeadsArePackedSomeAtATime) {
  Problem problem({2, 9, 40, 20, 2000});
  problem.run(
      [](const AttentionArgs& args) { attention_split(split_kernels(split_available()), args); });
  EXPECT_LT(problem.worst_error(), tolerance);
}

TEST(SplitAttention, ScoresFarApartNeitherOverflowNorLoseTheLargest) {
  for_each_way([&](const SplitKernels& kernels) {
    Problem problem({1, 1, 8, 40, 300});
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t row = 0; row < 40; ++row) problem.q.at(0, row, 0, i) *= 40;
      problem.k.at(0, 290, 0, i) *= 30;
    }
    problem.run([&](const AttentionArgs& args) { attention_split(kernels, args); });
    for (int64_t row = 0; row < 40; ++row)
      for (int64_t i = 0; i < 8; ++i) EXPECT_TRUE(std::isfinite(problem.y.at(0, row, 0, i)));
  });
}

TEST(SplitAttention, ANanReachesTheQueriesThatSeeIt) {
  for_each_way([&](const SplitKernels& kernels) {
    Problem query({1, 2, 8, 40, 50}), value({1, 2, 8, 40, 50});
    query.q.at(0, 7, 0, 3) = nan;
    value.v.at(0, 9, 1, 5) = nan;
    for (Problem* problem : {&query, &value})
      problem->run([&](const AttentionArgs& args) { attention_split(kernels, args); });
    for (int64_t row = 0; row < 40; ++row) {
      EXPECT_EQ(std::isnan(query.y.at(0, row, 0, 0)), row == 7);
      EXPECT_FALSE(std::isnan(query.y.at(0, row, 1, 0)));
      EXPECT_TRUE(std::isnan(value.y.at(0, row, 1, 5)));
      EXPECT_FALSE(std::isnan(value.y.at(0, row, 1, 4)));
    }
  });
}

TEST(SplitAttention, BitsDependOnNeitherThreadsNorBatch) {
  const SplitKernels kernels = split_kernels(split_available());
  auto way = [&](const AttentionArgs& args) { attention_split(kernels, args); };
  Problem both({2, 3, 40, 300, 200});
  both.run(way);
  Problem again = both;
  const int threads = team_size();
  set_team_size(1);
  again.run(way);
  set_team_size(threads);
  EXPECT_EQ(again.y.memory, both.y.memory);
  Problem one = both;
  one.args.batch = 1;
  one.run(way);
  EXPECT_EQ(one.y.memory, both.y.memory);
}

}  // namespace
}  // namespace omnirt::cpu
