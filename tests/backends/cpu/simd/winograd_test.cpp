#include "backends/cpu/simd/winograd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/simd/each_target.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "backends/cpu/simd/winograd_problem.hpp"
#include "base/error.hpp"

namespace omnirt::cpu {
namespace {

constexpr ConvChoice forms[] = {ConvChoice::winograd4, ConvChoice::winograd2,
                                ConvChoice::winograd4_bf16, ConvChoice::winograd2_bf16};

void expect_close(Problem& problem, ConvChoice form, const std::vector<double>& reference,
                  double largest) {
  double worst = 0;
  size_t index = 0;
  problem.each_output([&](int64_t b, int64_t h, int64_t w, int64_t o) {
    const double error = std::abs(problem.y.at(b, h, w, o) - reference[index++]);
    worst = error <= worst ? worst : error;
  });
  EXPECT_LE(worst, tolerance(form) * largest);
}

void check(const WinogradShape& shape, WeightType type, bool rich,
           Activation activation = Activation::none) {
  Problem problem(shape, type, rich);
  problem.epilogue.activation = activation;
  double largest = 0;
  const std::vector<double> reference = problem.reference(&largest);
  each_target([&] {
    for (const ConvChoice form : forms) {
      SCOPED_TRACE(static_cast<int>(form));
      problem.run(form);
      expect_close(problem, form, reference, largest);
    }
  });
}

std::string text(const WinogradShape& s) {
  return "batch " + std::to_string(s.batch) + ", " + std::to_string(s.in_channels) + " -> " +
         std::to_string(s.out_channels) + ", " + std::to_string(s.in_height) + "x" +
         std::to_string(s.in_width);
}

TEST(Winograd, AgreesWithTheDirectSumOverChannelCountsAndOddSizes) {
  for (const auto [in, out, height, width] : {std::array<int64_t, 4>{1, 1, 1, 1},
                                              {1, 3, 2, 3},
                                              {3, 4, 5, 7},
                                              {4, 5, 9, 9},
                                              {5, 33, 4, 4},
                                              {17, 31, 6, 8},
                                              {32, 64, 8, 8},
                                              {33, 66, 3, 13},
                                              {64, 3, 11, 10},
                                              {200, 20, 5, 6},
                                              {7, 130, 1, 9},
                                              {350, 9, 4, 3}}) {
    const WinogradShape shape{
        .batch = 2, .in_channels = in, .out_channels = out, .in_height = height, .in_width = width};
    SCOPED_TRACE(text(shape));
    check(shape, WeightType::f32, false);
  }
}

TEST(Winograd, HoldsItsErrorAtAnImageSizeAndChannelCountOfRealNetworks) {
  check({.batch = 1, .in_channels = 320, .out_channels = 40, .in_height = 12, .in_width = 12},
        WeightType::f32, false);
}

TEST(Winograd, TakesAnyPaddingOnEachSide) {
  for (int bits = 0; bits < 16; ++bits) {
    WinogradShape shape{
        .batch = 1, .in_channels = 6, .out_channels = 5, .in_height = 7, .in_width = 6};
    shape.left = bits & 1;
    shape.right = bits >> 1 & 1;
    shape.top = bits >> 2 & 1;
    shape.bottom = bits >> 3 & 1;
    SCOPED_TRACE(bits);
    check(shape, WeightType::f32, false);
  }
  WinogradShape wide{
      .batch = 1, .in_channels = 6, .out_channels = 5, .in_height = 3, .in_width = 4};
  wide.left = 9, wide.right = 2, wide.top = 0, wide.bottom = 6;
  check(wide, WeightType::f32, false);
}

TEST(Winograd, ConvolvesTheNearestUpsampledImageWithoutMakingIt) {
  for (const auto [height, width] :
       {std::array<int64_t, 2>{10, 12}, {9, 11}, {5, 6}, {15, 7}, {17, 23}}) {
    WinogradShape shape{
        .batch = 2, .in_channels = 6, .out_channels = 5, .in_height = 5, .in_width = 6};
    shape.up_height = height;
    shape.up_width = width;
    check(shape, WeightType::f32, false);
  }
}

TEST(Winograd, ReadsWeightsOfEachTypeAtAnyAddress) {
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16})
    for (const auto [in, out] : {std::array<int64_t, 2>{64, 64}, {13, 37}}) {
      SCOPED_TRACE(static_cast<int>(type));
      check({.batch = 1, .in_channels = in, .out_channels = out, .in_height = 6, .in_width = 5},
            type, false);
    }
}

TEST(Winograd, AddsBiasesAndResidualBeforeTheActivation) {
  for (const Activation kind :
       {Activation::none, Activation::silu, Activation::gelu, Activation::gelu_tanh,
        Activation::quick_gelu, Activation::relu, Activation::leaky_relu})
    for (const int64_t out : {37, 64}) {
      SCOPED_TRACE(static_cast<int>(kind));
      check({.batch = 3, .in_channels = 8, .out_channels = out, .in_height = 6, .in_width = 5},
            WeightType::f32, true, kind);
    }
}

TEST(Winograd, WritesOnlyTheOutputsOfY) {
  Problem problem(
      {.batch = 2, .in_channels = 5, .out_channels = 35, .in_height = 5, .in_width = 7});
  each_target([&] {
    for (const ConvChoice form : forms) {
      std::fill(problem.y.memory.begin(), problem.y.memory.end(), 1e30f);
      problem.run(form);
      problem.each_output([&](int64_t b, int64_t h, int64_t w, int64_t o) {
        ASSERT_NE(problem.y.at(b, h, w, o), 1e30f);
        problem.y.at(b, h, w, o) = 1e30f;
      });
      for (const float value : problem.y.memory) ASSERT_EQ(value, 1e30f);
    }
  });
}

TEST(Winograd, TakesAResidualThatIsTheOutputItself) {
  Problem problem({.batch = 1, .in_channels = 5, .out_channels = 35, .in_height = 9, .in_width = 7},
                  WeightType::f32, true);
  problem.run(ConvChoice::winograd4);
  const std::vector<float> apart = problem.y.memory;
  problem.each_output([&](int64_t b, int64_t h, int64_t w, int64_t o) {
    problem.y.at(b, h, w, o) = problem.residual.at(b, h, w, o);
  });
  problem.epilogue.residual = problem.y.data();
  problem.epilogue.residual_strides = problem.y.strides;
  problem.run(ConvChoice::winograd4);
  EXPECT_EQ(problem.y.memory, apart);
}

TEST(Winograd, GivesTheSameBitsFromFiltersTransformedBeforehand) {
  for (const WeightType type : {WeightType::f32, WeightType::f16}) {
    Problem problem(
        {.batch = 2, .in_channels = 170, .out_channels = 70, .in_height = 9, .in_width = 6}, type,
        true);
    each_target([&] {
      for (const ConvChoice form : forms) {
        problem.run(form);
        const std::vector<float> direct = problem.y.memory;
        problem.run_packed(form);
        EXPECT_EQ(problem.y.memory, direct);
      }
    });
  }
}

TEST(Winograd, GivesASampleTheSameBitsAloneAndInABatch) {
  const WinogradShape shape{
      .batch = 5, .in_channels = 40, .out_channels = 70, .in_height = 13, .in_width = 18};
  each_target([&] {
    for (const ConvChoice form : forms) {
      Problem batch(shape, WeightType::f32, true);
      batch.run(form);
      Problem alone(shape, WeightType::f32, true);
      alone.shape.batch = 1;
      for (int64_t b = 0; b < shape.batch; ++b) {
        ConvEpilogue epilogue = alone.epilogue;
        epilogue.sample_bias += b * epilogue.sample_bias_stride;
        epilogue.residual += b * epilogue.residual_strides.batch;
        winograd_conv(form, alone.shape,
                      {alone.x.data() + b * alone.x.strides.batch, alone.x.strides},
                      alone.weights.view(), epilogue, alone.y.data() + b * alone.y.strides.batch,
                      alone.y.strides);
      }
      EXPECT_EQ(alone.y.memory, batch.y.memory);
    }
  });
}

TEST(Winograd, GivesTheSameBitsOnAnyNumberOfThreads) {
  Problem problem(
      {.batch = 2, .in_channels = 170, .out_channels = 70, .in_height = 30, .in_width = 31},
      WeightType::f32, true);
  const int before = team_size();
  for (const ConvChoice form : forms) {
    set_team_size(1);
    problem.run(form);
    const std::vector<float> one = problem.y.memory;
    for (const int threads : {2, 5}) {
      set_team_size(threads);
      problem.run(form);
      EXPECT_EQ(problem.y.memory, one);
    }
  }
  set_team_size(before);
}

TEST(Winograd, SpreadsNanAndInfinityNoFurtherThanTheTilesThatReadThem) {
  each_target([&] {
    for (const ConvChoice form : forms)
      for (const float value :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Problem problem(
            {.batch = 2, .in_channels = 20, .out_channels = 6, .in_height = 14, .in_width = 15});
        constexpr int64_t row = 6, column = 9;
        problem.x.at(1, row, column, 17) = value;
        problem.run(form);
        const int64_t tile = form == ConvChoice::winograd4 ? 4 : 2;
        problem.each_output([&](int64_t b, int64_t h, int64_t w, int64_t o) {
          const auto reads = [&](int64_t out, int64_t in) {
            const int64_t first = out / tile * tile - 1;
            return in >= first && in < first + tile + 2;
          };
          const bool direct = b == 1 && std::abs(h - row) <= 1 && std::abs(w - column) <= 1;
          const bool may = b == 1 && reads(h, row) && reads(w, column);
          const float y = problem.y.at(b, h, w, o);
          EXPECT_FALSE(direct && std::isfinite(y));
          EXPECT_TRUE(may || std::isfinite(y));
        });
      }
  });
}

TEST(WinogradChoice, DependsOnTheSampleNotOnTheBatch) {
  for (const int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 64})
    for (const int64_t channels : {3, 16, 64, 320, 1280}) {
      WinogradShape shape{
          .in_channels = channels, .out_channels = channels, .in_height = size, .in_width = size};
      const ConvChoice one = choose_conv3x3(shape);
      shape.batch = 16;
      EXPECT_EQ(choose_conv3x3(shape), one);
    }
}

TEST(WinogradChoice, TakesF4ForTheMapsOfRealNetworksAndTheDirectSumForTinyOnes) {
  const auto choice = [](int64_t in, int64_t out, int64_t size) {
    return choose_conv3x3(
        {.in_channels = in, .out_channels = out, .in_height = size, .in_width = size});
  };
  for (const int64_t size : {8, 16, 32, 64, 128})
    EXPECT_EQ(choice(320, 320, size), ConvChoice::winograd4);
  EXPECT_EQ(choice(128, 128, 512), ConvChoice::winograd4);
  EXPECT_EQ(choice(1280, 1280, 1), ConvChoice::direct);
  EXPECT_EQ(choice(4, 320, 64), ConvChoice::direct);
  EXPECT_EQ(choice(320, 4, 64), ConvChoice::direct);
}

TEST(PackedWinograd, RefusesToServeAnotherChannelCount) {
  Problem problem(
      {.batch = 1, .in_channels = 5, .out_channels = 35, .in_height = 5, .in_width = 7});
  const PackedWinograd packed = pack_winograd(ConvChoice::winograd4, 6, 35, problem.weights.view());
  EXPECT_THROW(winograd_conv(problem.shape, {problem.x.data(), problem.x.strides}, packed, {},
                             problem.y.data(), problem.y.strides),
               InternalError);
}

}  // namespace
}  // namespace omnirt::cpu
