#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/simd/each_target.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "backends/cpu/simd/winograd.hpp"
#include "backends/cpu/simd/winograd_kernels.hpp"
#include "backends/cpu/simd/winograd_problem.hpp"
#include "base/error.hpp"

// Convolutions that scale, shift and activate their input as they read it.
namespace omnirt::cpu {
namespace {

constexpr ConvChoice forms[] = {ConvChoice::winograd4, ConvChoice::winograd2};
constexpr Activation readings[] = {Activation::none, Activation::silu};

double worst_error(Problem& problem, const std::vector<double>& reference) {
  double worst = 0;
  size_t index = 0;
  problem.each_output([&](int64_t b, int64_t h, int64_t w, int64_t o) {
    const double error = std::abs(problem.y.at(b, h, w, o) - reference[index++]);
    worst = error <= worst ? worst : error;
  });
  return worst;
}

// The activated input's own error (3e-7) is below the sums': the plain tolerances hold.
void check(const WinogradShape& shape, bool rich = false) {
  for (const Activation reading : readings) {
    Problem problem(shape, WeightType::f32, rich);
    problem.normalise(reading);
    double largest = 0;
    const std::vector<double> reference = problem.reference(&largest);
    each_target([&] {
      for (const ConvChoice form : forms) {
        SCOPED_TRACE(form == ConvChoice::winograd4 ? "F4" : "F2");
        problem.run(form);
        EXPECT_LE(worst_error(problem, reference), tolerance(form) * largest);
      }
    });
  }
}

TEST(WinogradInput, AgreesWithTheSumOverTheNormalisedInput) {
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
    SCOPED_TRACE(in);
    check({.batch = 2,
           .in_channels = in,
           .out_channels = out,
           .in_height = height,
           .in_width = width});
  }
}

TEST(WinogradInput, AgreesWithBiasesResidualAndThreeSamples) {
  check({.batch = 3, .in_channels = 20, .out_channels = 37, .in_height = 6, .in_width = 5}, true);
}

TEST(WinogradInput, LeavesThePaddingZero) {
  for (int bits = 0; bits < 16; ++bits)
    for (const int64_t channels : {6, 17}) {
      WinogradShape shape{
          .batch = 1, .in_channels = channels, .out_channels = 5, .in_height = 7, .in_width = 6};
      shape.left = bits & 1;
      shape.right = bits >> 1 & 1;
      shape.top = bits >> 2 & 1;
      shape.bottom = bits >> 3 & 1;
      SCOPED_TRACE(bits);
      check(shape);
    }
  WinogradShape wide{
      .batch = 1, .in_channels = 18, .out_channels = 5, .in_height = 3, .in_width = 4};
  wide.left = 9, wide.right = 2, wide.top = 0, wide.bottom = 6;
  check(wide);
}

TEST(WinogradInput, NormalisesTheNearestUpsampledImage) {
  for (const auto [height, width] :
       {std::array<int64_t, 2>{10, 12}, {9, 11}, {5, 6}, {15, 7}, {17, 23}}) {
    WinogradShape shape{
        .batch = 2, .in_channels = 18, .out_channels = 5, .in_height = 5, .in_width = 6};
    shape.up_height = height;
    shape.up_width = width;
    check(shape);
  }
}

// Magnitudes from 2^-120 to 2^120, and evenly spaced numbers where the sigmoid is neither 0 nor 1.
std::vector<float> activation_arguments() {
  std::vector<float> x;
  for (int i = 0; i < 8192; ++i) x.push_back(-75.0f + 175.0f * static_cast<float>(i) / 8192);
  for (int i = 0; i < 4096; ++i) {
    const float magnitude = std::exp2(static_cast<float>(i - 2048) * (120.0f / 2048));
    x.push_back(magnitude);
    x.push_back(-std::min(magnitude, 1e4f));
  }
  return x;
}

// One pixel amid padding: of its transform by F2 the middle point is the activated pixel itself.
TEST(WinogradInput, ActivatesEveryMagnitudeToSixDigitsAndAHalf) {
  const std::vector<float> x = activation_arguments();
  const int64_t count = static_cast<int64_t>(x.size());
  const std::vector<float> scale(x.size(), 1.0f), shift(x.size(), 0.0f);
  std::vector<float> v(16 * x.size());
  const WinogradShape shape{.in_channels = count, .out_channels = 1, .in_height = 1, .in_width = 1};
  const WinogradGrid grid{&shape, 2, 1, 1};
  const ConvInput input{x.data(), {}, scale.data(), shift.data(), 0, Activation::silu};
  each_target([&] {
    winograd_kernels(ConvChoice::winograd2)
        .gather({&grid, input, 0, 1, count, v.data(), x.size(), x.size(), v.size()});
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = activated(Activation::silu, x[i]), got = v[5 * x.size() + i];
      if (std::abs(expected) > 1e-30)
        worst = std::max(worst, std::abs(got - expected) / std::abs(expected));
      else
        EXPECT_LT(std::abs(got), 1e-30);
    }
    EXPECT_LT(worst, 3e-7);
  });
}

TEST(WinogradInput, GivesTheSameBitsAloneAndInABatchFromEitherFilters) {
  const WinogradShape shape{
      .batch = 3, .in_channels = 170, .out_channels = 70, .in_height = 9, .in_width = 14};
  each_target([&] {
    for (const ConvChoice form : forms) {
      Problem batch(shape, WeightType::f32, false), alone(shape, WeightType::f32, false);
      batch.normalise(Activation::silu);
      alone.normalise(Activation::silu);
      batch.run(form);
      const std::vector<float> unpacked = batch.y.memory;
      batch.run_packed(form);
      EXPECT_EQ(batch.y.memory, unpacked);
      alone.shape.batch = 1;
      for (int64_t b = 0; b < shape.batch; ++b) {
        ConvInput in = alone.input();
        in.data += b * in.strides.batch;
        in.scale += b * in.scale_stride;
        in.shift += b * in.scale_stride;
        winograd_conv(form, alone.shape, in, alone.weights.view(), alone.epilogue,
                      alone.y.data() + b * alone.y.strides.batch, alone.y.strides);
      }
      EXPECT_EQ(alone.y.memory, batch.y.memory);
    }
  });
}

TEST(WinogradInput, GivesTheSameBitsOnAnyNumberOfThreads) {
  Problem problem(
      {.batch = 2, .in_channels = 90, .out_channels = 70, .in_height = 30, .in_width = 31});
  problem.normalise(Activation::silu);
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

TEST(WinogradInput, SpreadsNanAndInfinitiesThroughTheActivation) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr int64_t row = 6, column = 9;
  each_target([&] {
    for (const ConvChoice form : forms)
      for (const float value : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity})
        for (const int64_t channel : {3, 17}) {
          Problem problem(
              {.batch = 2, .in_channels = 20, .out_channels = 6, .in_height = 14, .in_width = 15});
          problem.normalise(Activation::silu);
          problem.x.at(1, row, column, channel) = value;
          problem.run(form);
          problem.each_output([&](int64_t b, int64_t h, int64_t w, int64_t o) {
            const bool direct = b == 1 && std::abs(h - row) <= 1 && std::abs(w - column) <= 1;
            const bool far = b == 0 || std::abs(h - row) > 4 || std::abs(w - column) > 4;
            const float y = problem.y.at(b, h, w, o);
            EXPECT_FALSE(direct && std::isfinite(y));
            EXPECT_FALSE(far && !std::isfinite(y));
          });
        }
  });
}

TEST(WinogradInput, RefusesWhatItCannotRead) {
  Problem problem({.batch = 1, .in_channels = 5, .out_channels = 3, .in_height = 5, .in_width = 7});
  problem.reading = Activation::silu;
  EXPECT_THROW(problem.run(ConvChoice::winograd4), InternalError);
  problem.normalise(Activation::gelu);
  EXPECT_THROW(problem.run(ConvChoice::winograd4), InternalError);
  EXPECT_THROW(problem.run_packed(ConvChoice::winograd4), InternalError);
}

}  // namespace
}  // namespace omnirt::cpu
