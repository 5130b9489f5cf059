#include "backends/cpu/simd/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "attention_problem.hpp"
#include "backends/cpu/simd/each_target.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "base/cancel_scope.hpp"

namespace omnirt::cpu {
namespace {

using Case = AttentionCase;
using Problem = AttentionProblem;

// Values are of order 1; scores up to about 5 are right to 1e-6, and so are their exponentials.
constexpr double tolerance = 4e-6;

TEST(Attention, IsSoftmaxOfScaledScoresTimesValues) {
  const Case cases[] = {{1, 1, 1, 1, 1},      {2, 3, 5, 7, 9},     {1, 2, 40, 33, 77},
                        {2, 1, 64, 64, 64},   {1, 1, 80, 31, 126}, {1, 2, 160, 17, 127},
                        {1, 1, 512, 40, 300}, {3, 2, 7, 129, 253}, {1, 1, 42, 300, 15}};
  each_target([&] {
    for (const Case& c : cases) {
      Problem problem(c);
      problem.run();
      EXPECT_LT(problem.worst_error(), tolerance)
          << "d " << c.dim << " Tq " << c.q_tokens << " Tk " << c.k_tokens;
    }
  });
}

TEST(Attention, EveryHeadWidthUpToSeventyIsRight) {
  each_target([&] {
    for (int64_t dim = 1; dim <= 70; ++dim) {
      Problem problem({1, 1, dim, 9, 13});
      problem.run();
      EXPECT_LT(problem.worst_error(), tolerance) << "d " << dim;
    }
  });
}

// A sum carried over all keys would be off by up to 1e-5 here: the error may not grow with the
// square root of the number of keys. An image of 1024x1024 next to another has 8192 tokens and
// more.
TEST(Attention, KeepsItsAccuracyOverManyKeys) {
  each_target([&] {
    Problem problem({1, 1, 4, 16, 65536});
    for (float& value : problem.v.memory) value += 1;
    problem.run();
    EXPECT_LT(problem.worst_error(), 2e-6);
  });
}

TEST(Attention, EveryNumberOfKeysIsRight) {
  each_target([&] {
    for (int64_t keys = 1; keys <= 140; ++keys) {
      Problem problem({1, 1, 4, 3, keys});
      problem.run();
      EXPECT_LT(problem.worst_error(), tolerance) << "Tk " << keys;
    }
  });
}

TEST(Attention, ACausalQuerySeesNoLaterKey) {
  const Case cases[] = {{2, 2, 64, 77, 77, true},
                        {1, 1, 8, 200, 300, true},
                        {1, 1, 8, 300, 150, true},
                        {1, 3, 20, 1, 5, true}};
  each_target([&] {
    for (const Case& c : cases) {
      Problem problem(c);
      problem.run();
      EXPECT_LT(problem.worst_error(), tolerance) << "Tq " << c.q_tokens << " Tk " << c.k_tokens;
    }
  });
}

TEST(Attention, HeadsOfQueriesShareHeadsOfKeys) {
  const Case cases[] = {
      {2, 6, 20, 33, 45, false, 2}, {1, 4, 64, 150, 150, true, 4}, {2, 8, 16, 5, 130, false, 4}};
  each_target([&] {
    for (const Case& c : cases) {
      Problem problem(c);
      problem.run();
      EXPECT_LT(problem.worst_error(), tolerance) << c.heads << " heads, " << c.sharing << " share";
    }
  });
}

TEST(Attention, LaterKeysWithHugeOrNanScoresDoNotReachEarlierQueries) {
  each_target([&] {
    Problem problem({1, 1, 8, 50, 50, true});
    for (int64_t i = 0; i < 8; ++i) {
      problem.k.at(0, 20, 0, i) = 1e6f;
      problem.k.at(0, 30, 0, i) = nan;
    }
    problem.run();
    for (int64_t row = 0; row < 20; ++row) {
      const std::vector<double> want = problem.expected(0, 0, row);
      for (int64_t i = 0; i < 8; ++i) {
        EXPECT_NEAR(problem.y.at(0, row, 0, i), want[static_cast<size_t>(i)], tolerance);
      }
    }
    EXPECT_FALSE(std::isnan(problem.y.at(0, 29, 0, 0)));
    EXPECT_TRUE(std::isnan(problem.y.at(0, 30, 0, 0)));
  });
}

// A bias of every value of its own, one repeated along each of its dimensions, and masks.
TEST(Attention, ABiasIsAddedToTheScores) {
  constexpr int64_t batch = 2, heads = 3, queries = 45, keys = 150;
  const ScoreBias strides[] = {{nullptr, heads * queries * keys, queries * keys, keys, 1},
                               {nullptr, queries, batch * queries, 1, batch * heads * queries},
                               {nullptr, 0, queries * keys, keys, 1},
                               {nullptr, keys, 0, 0, 1},
                               {nullptr, 0, 0, 0, 1},
                               {nullptr, queries * heads, queries, 1, 0}};
  std::vector<float> values(batch * heads * queries * keys);
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(engine) > 1.5f ? -inf : 2 * normal(engine);
  each_target([&] {
    for (const bool causal : {false, true}) {
      for (ScoreBias bias : strides) {
        Problem problem({batch, heads, 20, queries, keys, causal});
        bias.data = values.data();
        problem.args.bias = bias;
        problem.run();
        for (int64_t b = 0; b < batch; ++b)
          for (int64_t h = 0; h < heads; ++h)
            for (int64_t row = 0; row < queries; ++row) {
              bool none = true;
              for (int64_t key = 0; key < (causal ? row + 1 : keys); ++key)
                none = none && problem.bias_at(b, h, row, key) == -inf;
              const std::vector<double> want = problem.expected(b, h, row);
              for (int64_t i = 0; i < 20; ++i)
                EXPECT_NEAR(problem.y.at(b, row, h, i), none ? 0 : want[size_t(i)], 2 * tolerance);
            }
      }
    }
  });
}

TEST(Attention, AQueryThatABiasKeepsFromEveryKeyIsZero) {
  std::vector<float> mask(40 * 30, 0.0f);
  std::fill_n(mask.begin() + 7 * 30, 30, -inf);
  each_target([&] {
    Problem problem({1, 2, 16, 40, 30});
    problem.args.bias = {mask.data(), 0, 0, 30, 1};
    problem.run();
    for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(problem.y.at(0, 7, 1, i), 0.0f);
    EXPECT_NEAR(problem.y.at(0, 8, 1, 3), problem.expected(0, 1, 8)[3], tolerance);
  });
}

TEST(Attention, KeysPastASamplesCountAreNotRead) {
  const std::vector<int64_t> counts = {5, 130, 200};
  each_target([&] {
    Problem problem({3, 2, 16, 20, 200});
    problem.args.key_counts = counts.data();
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t key = counts[static_cast<size_t>(b)]; key < 200; ++key) {
        for (int64_t i = 0; i < 16; ++i) {
          problem.k.at(b, key, 0, i) = problem.v.at(b, key, 1, i) = nan;
        }
      }
    }
    problem.run();
    EXPECT_LT(problem.worst_error(), tolerance);
  });
}

TEST(Attention, ScoresFarApartNeitherOverflowNorLoseTheLargest) {
  each_target([&] {
    Problem problem({1, 1, 4, 40, 300});
    problem.args.scale = 300.0f;  // scores to +-5000: exponentials of them would overflow
    problem.run();
    // Scores of 5000 have an error of 5000 * 2^-23, which weights and so the result inherit.
    EXPECT_LT(problem.worst_error(), 4e-3);
    problem.args.scale = -300.0f;
    problem.run();
    EXPECT_LT(problem.worst_error(), 4e-3);
  });
}

TEST(Attention, ANanInAQueryIsANanInItsRowOnly) {
  each_target([&] {
    Problem problem({1, 2, 40, 70, 150});
    problem.q.at(0, 33, 1, 7) = nan;
    problem.run();
    for (int64_t row = 0; row < 70; ++row) {
      for (int64_t i = 0; i < 40; ++i) {
        EXPECT_EQ(std::isnan(problem.y.at(0, row, 1, i)), row == 33);
        EXPECT_FALSE(std::isnan(problem.y.at(0, row, 0, i)));
      }
    }
  });
}

TEST(Attention, ANanInAKeyReachesEveryQueryOfItsHead) {
  each_target([&] {
    for (const int64_t key : {0, 64, 299}) {
      Problem problem({1, 2, 8, 35, 300});
      problem.k.at(0, key, 1, 2) = nan;
      problem.run();
      for (int64_t row = 0; row < 35; ++row) {
        EXPECT_TRUE(std::isnan(problem.y.at(0, row, 1, 5))) << key;
        EXPECT_FALSE(std::isnan(problem.y.at(0, row, 0, 5))) << key;
      }
    }
  });
}

TEST(Attention, ANanOrAnInfinityInAValueReachesItsColumnOnly) {
  each_target([&] {
    Problem problem({1, 1, 8, 35, 200});
    problem.v.at(0, 150, 0, 2) = nan;
    problem.v.at(0, 3, 0, 4) = inf;
    problem.run();
    for (int64_t row = 0; row < 35; ++row) {
      for (int64_t i = 0; i < 8; ++i) {
        const float value = problem.y.at(0, row, 0, i);
        EXPECT_EQ(std::isnan(value), i == 2);
        EXPECT_EQ(value == inf, i == 4);
      }
    }
  });
}

TEST(Attention, AScoreOfMinusInfinityWeighsNothingAndOneOfPlusInfinityIsNan) {
  each_target([&] {
    Problem problem({1, 1, 1, 2, 300});
    for (int64_t key = 0; key < 300; ++key) problem.k.at(0, key, 0, 0) = 1.0f;
    for (int64_t key = 0; key < 128; ++key) problem.k.at(0, key, 0, 0) = -inf;
    problem.q.at(0, 0, 0, 0) = 2.0f;   // the whole first block of keys scores -inf
    problem.q.at(0, 1, 0, 0) = -2.0f;  // and here +inf
    problem.run();
    double mean = 0;
    for (int64_t key = 128; key < 300; ++key) mean += problem.v.at(0, key, 0, 0) / 172.0;
    EXPECT_NEAR(problem.y.at(0, 0, 0, 0), mean, tolerance);
    EXPECT_TRUE(std::isnan(problem.y.at(0, 1, 0, 0)));
  });
}

TEST(Attention, KeysThatAllScoreMinusInfinityGiveNan) {
  each_target([&] {
    Problem problem({1, 1, 1, 1, 150});
    for (int64_t key = 0; key < 150; ++key) problem.k.at(0, key, 0, 0) = -inf;
    problem.q.at(0, 0, 0, 0) = 1.0f;
    problem.run();
    EXPECT_TRUE(std::isnan(problem.y.at(0, 0, 0, 0)));
  });
}

TEST(Attention, NothingOutsideTheResultIsWritten) {
  each_target([&] {
    Problem problem({2, 2, 10, 37, 20});
    const float mark = 12345.0f;
    std::fill(problem.y.memory.begin(), problem.y.memory.end(), mark);
    problem.run();
    int64_t marks = 0;
    for (const float value : problem.y.memory) marks += value == mark;
    EXPECT_EQ(marks, static_cast<int64_t>(problem.y.memory.size()) - 2 * 37 * 20);
  });
}

bool same_bits(Tokens& a, int64_t sample_a, Tokens& b, int64_t sample_b) {
  const size_t bytes = static_cast<size_t>(a.batch_stride - 5) * sizeof(float);
  return std::memcmp(a.data() + sample_a * a.batch_stride, b.data() + sample_b * b.batch_stride,
                     bytes) == 0;
}

TEST(Attention, TheNumberOfThreadsAndTheBatchChangeNoBit) {
  const int before = team_size();
  Problem one({1, 2, 40, 300, 300}), many({2, 2, 40, 300, 300});
  for (Tokens* t : {&many.q, &many.k, &many.v}) {
    Tokens& source = t == &many.q ? one.q : t == &many.k ? one.k : one.v;
    for (int64_t b = 0; b < 2; ++b) {
      std::copy_n(source.data(), source.batch_stride, t->data() + b * t->batch_stride);
    }
  }
  std::fill(one.y.memory.begin(), one.y.memory.end(), 0.0f);
  std::fill(many.y.memory.begin(), many.y.memory.end(), 0.0f);
  set_team_size(1);
  one.run();
  for (const int threads : {1, 2, 5}) {
    set_team_size(threads);
    many.run();
    EXPECT_TRUE(same_bits(one.y, 0, many.y, 0));
    EXPECT_TRUE(same_bits(one.y, 0, many.y, 1));
  }
  set_team_size(before);
}

// Uncancelled, this would take minutes: it ends because the loops check for cancellation.
TEST(Attention, EndsInTheMiddleWhenItsRunIsCancelled) {
  Problem problem({1, 1, 64, 1 << 17, 1 << 17});
  CancelToken token;
  CancelScope scope(&token);
  std::thread canceller([&] { token.cancel(); });
  EXPECT_THROW(problem.run(), Cancelled);
  canceller.join();
}

}  // namespace
}  // namespace omnirt::cpu
