#include "backends/cpu/simd/group_norm.hpp"

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

struct Case {
  int64_t batch, pixels, channels, groups;
};

// From one value to many chunks of pixels (256 or more each); those of one chunk go by channels.
constexpr Case cases[] = {{1, 1, 1, 1},    {2, 5, 6, 3},     {1, 64, 320, 32},  {2, 300, 40, 40},
                          {3, 33, 30, 3},  {1, 4, 2560, 32}, {2, 257, 128, 32}, {1, 7, 33, 11},
                          {1, 18, 640, 1}, {2, 700, 64, 32}, {1, 17000, 12, 4}, {1, 1025, 45, 9}};

// x {batch, pixels, channels} at an odd address, with room between pixels and samples.
struct Problem {
  GroupNormShape shape;
  int64_t pixel_stride, batch_stride;
  std::vector<float> x, y, weight, bias;

  explicit Problem(const Case& c, float mean = 0.5f, float deviation = 2.0f)
      : shape{c.batch, c.pixels, c.channels, c.groups, 1e-5}, pixel_stride(c.channels + 3) {
    batch_stride = c.pixels * pixel_stride + 2;
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    x.resize(static_cast<size_t>(c.batch * batch_stride + 1));
    for (float& value : x) value = mean + deviation * normal(engine);
    y.assign(x.size(), 77.0f);
    for (int64_t i = 0; i < c.channels; ++i) {
      weight.push_back(1.0f + 0.5f * normal(engine));
      bias.push_back(normal(engine));
    }
  }

  float& at(std::vector<float>& values, int64_t b, int64_t p, int64_t c) {
    return values[static_cast<size_t>(1 + b * batch_stride + p * pixel_stride + c)];
  }

  void run(Activation activation, bool affine = true) {
    group_norm(shape, {x.data() + 1, batch_stride, pixel_stride}, affine ? weight.data() : nullptr,
               affine ? bias.data() : nullptr, activation,
               {y.data() + 1, batch_stride, pixel_stride});
  }

  // Mean and 1 / sqrt(variance + eps) of a group in double, by two passes.
  std::pair<double, double> moments(int64_t b, int64_t group) {
    const int64_t width = shape.channels / shape.groups;
    const double count = static_cast<double>(width * shape.pixels);
    double mean = 0, squares = 0;
    for (int64_t p = 0; p < shape.pixels; ++p) {
      for (int64_t c = 0; c < width; ++c) mean += at(x, b, p, group * width + c) / count;
    }
    for (int64_t p = 0; p < shape.pixels; ++p) {
      for (int64_t c = 0; c < width; ++c) {
        const double d = at(x, b, p, group * width + c) - mean;
        squares += d * d;
      }
    }
    return {mean, 1.0 / std::sqrt(squares / count + shape.eps)};
  }

  // Calls check(b, p, c, expected) for each value.
  template <class Check>
  void each(Activation activation, bool affine, const Check& check) {
    const int64_t width = shape.channels / shape.groups;
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t group = 0; group < shape.groups; ++group) {
        const auto [mean, inverse] = moments(b, group);
        for (int64_t p = 0; p < shape.pixels; ++p) {
          for (int64_t c = group * width; c < (group + 1) * width; ++c) {
            double want = (at(x, b, p, c) - mean) * inverse;
            const size_t i = static_cast<size_t>(c);
            if (affine) want = want * weight[i] + bias[i];
            if (activation == Activation::silu) want /= 1.0 + std::exp(-want);
            check(b, p, c, want);
          }
        }
      }
    }
  }

  double worst_error(Activation activation, bool affine = true) {
    double worst = 0;
    each(activation, affine, [&](int64_t b, int64_t p, int64_t c, double want) {
      const double error = std::abs(at(y, b, p, c) - want);
      worst = std::isnan(error) ? inf : std::max(worst, error);
    });
    return worst;
  }
};

// Results reach about 10; a few roundings of them, and sums of 64 terms in single precision.
constexpr double tolerance = 5e-6;

TEST(GroupNorm, NormalisesEachGroupOfChannels) {
  each_target([&] {
    for (const Case& c : cases) {
      Problem problem(c);
      for (const Activation activation : {Activation::none, Activation::silu}) {
        problem.run(activation);
        EXPECT_LT(problem.worst_error(activation), tolerance)
            << c.pixels << " pixels, " << c.channels << " channels, " << c.groups << " groups";
      }
    }
  });
}

TEST(GroupNorm, WorksWithoutWeightAndBias) {
  each_target([&] {
    Problem problem({2, 70, 48, 8});
    problem.run(Activation::none, false);
    EXPECT_LT(problem.worst_error(Activation::none, false), tolerance);
  });
}

TEST(GroupNorm, WritesOnlyItsOwnPixelsAndChannels) {
  each_target([&] {
    for (const Case& c : {Case{2, 37, 20, 4}, Case{2, 700, 64, 32}}) {
      Problem problem(c);
      problem.run(Activation::none);
      const int64_t kept = std::count(problem.y.begin(), problem.y.end(), 77.0f);
      EXPECT_EQ(kept, static_cast<int64_t>(problem.y.size()) - c.batch * c.pixels * c.channels);
    }
  });
}

TEST(GroupNorm, AMeanOfTenThousandDeviationsCostsNoDigits) {
  each_target([&] {
    for (const Case& c : {Case{1, 500, 40, 4}, Case{1, 17000, 12, 4}}) {
      Problem problem(c, 1e4f, 1.0f);
      problem.run(Activation::none);
      EXPECT_LT(problem.worst_error(Activation::none), tolerance);
    }
  });
}

TEST(GroupNorm, ChannelsOfOneGroupMayLieFarApart) {
  each_target([&] {
    Problem problem({1, 300, 8, 2});
    for (int64_t p = 0; p < 300; ++p) {
      for (int64_t c = 0; c < 8; ++c) problem.at(problem.x, 0, p, c) += c % 2 ? 3e4f : -5e4f;
    }
    problem.run(Activation::none);
    EXPECT_LT(problem.worst_error(Activation::none), tolerance);
  });
}

TEST(GroupNorm, AnOutlierAmongTheFirstPixelsCostsFewDigits) {
  each_target([&] {
    Problem problem({1, 3000, 16, 4});
    problem.at(problem.x, 0, 0, 3) = 1e5f;
    problem.run(Activation::none);
    // The outlier itself normalises to about 100: relative to that, single precision.
    EXPECT_LT(problem.worst_error(Activation::none), 1e-4);
  });
}

TEST(GroupNorm, AConstantGroupGivesTheBias) {
  each_target([&] {
    Problem problem({1, 100, 8, 2}, 3.7f, 0.0f);
    problem.run(Activation::none);
    for (int64_t c = 0; c < 8; ++c) {
      EXPECT_NEAR(problem.at(problem.y, 0, 50, c), problem.bias[static_cast<size_t>(c)], 1e-4);
    }
  });
}

TEST(GroupNorm, ANanOrAnInfinityMakesNanOfItsGroupOnly) {
  each_target([&] {
    for (const Case& c : {Case{2, 40, 12, 3}, Case{2, 700, 64, 32}}) {
      for (const float bad : {nan, inf, -inf}) {
        for (const int64_t pixel : {int64_t{0}, c.pixels - 3}) {
          Problem problem(c);
          const int64_t width = c.channels / c.groups;
          problem.at(problem.x, 1, pixel, width) = bad;
          problem.run(Activation::none);
          for (int64_t i = 0; i < c.channels; ++i) {
            EXPECT_EQ(std::isnan(problem.at(problem.y, 1, 20, i)), i / width == 1);
            EXPECT_FALSE(std::isnan(problem.at(problem.y, 0, 20, i)));
          }
        }
      }
    }
  });
}

TEST(GroupNorm, MayWriteOverItsInput) {
  each_target([&] {
    for (const Case& c : {Case{2, 40, 12, 3}, Case{2, 700, 64, 32}}) {
      Problem problem(c);
      problem.run(Activation::silu);
      const PixelView<float> view{problem.x.data() + 1, problem.batch_stride, problem.pixel_stride};
      group_norm(problem.shape, {view.data, view.batch_stride, view.pixel_stride},
                 problem.weight.data(), problem.bias.data(), Activation::silu, view);
      for (int64_t p = 0; p < c.pixels; ++p) {
        ASSERT_EQ(problem.at(problem.x, 1, p, 5), problem.at(problem.y, 1, p, 5));
      }
    }
  });
}

TEST(GroupNorm, ScaleAndShiftAloneGiveTheSameResult) {
  each_target([&] {
    for (const Case& c : cases) {
      Problem problem(c);
      std::vector<float> scale(static_cast<size_t>(c.batch * c.channels)), shift(scale.size());
      group_norm_scale_shift(
          problem.shape, {problem.x.data() + 1, problem.batch_stride, problem.pixel_stride},
          problem.weight.data(), problem.bias.data(), scale.data(), shift.data());
      double worst = 0;
      problem.each(Activation::none, true, [&](int64_t b, int64_t p, int64_t i, double want) {
        const size_t at = static_cast<size_t>(b * c.channels + i);
        const float got = problem.at(problem.x, b, p, i) * scale[at] + shift[at];
        worst = std::max(worst, std::abs(got - want));
      });
      // One value a group (variance 0) has a scale of 1 / sqrt(eps) = 316: x * scale cancels.
      EXPECT_LT(worst, c.pixels == 1 ? 1e-3 : tolerance);
    }
  });
}

TEST(GroupNorm, ThreadsAndBatchChangeNoBit) {
  const int before = team_size();
  for (const Case& c : {Case{3, 300, 40, 4}, Case{3, 700, 64, 32}}) {
    Problem all(c);
    set_team_size(1);
    all.run(Activation::silu);
    for (const int threads : {1, 2, 5}) {
      set_team_size(threads);
      Problem one({1, c.pixels, c.channels, c.groups});
      one.weight = all.weight;
      one.bias = all.bias;
      std::copy_n(all.x.begin() + 2 * all.batch_stride, one.x.size(), one.x.begin());
      one.run(Activation::silu);
      for (int64_t p = 0; p < c.pixels; ++p) {
        for (int64_t i = 0; i < c.channels; ++i) {
          ASSERT_EQ(one.at(one.y, 0, p, i), all.at(all.y, 2, p, i));
        }
      }
    }
  }
  set_team_size(before);
}

}  // namespace
}  // namespace omnirt::cpu
