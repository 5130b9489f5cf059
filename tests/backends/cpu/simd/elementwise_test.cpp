#include "backends/cpu/simd/elementwise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/simd/each_target.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace omnirt::cpu {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// The last value of each size is large enough for several threads.
constexpr int64_t counts[] = {0, 1, 3, 15, 16, 17, 100, 100003};

// Normal values that begin one float past an aligned address, and hold what formulas stumble over.
std::vector<float> values(int64_t count, unsigned seed, float spread = 3.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> result(static_cast<size_t>(count) + 1);
  for (float& value : result) value = normal(engine);
  return result;
}

std::vector<float> special_values() {
  std::vector<float> result = values(100000, 9, 20.0f);
  for (const float x : {0.0f, -0.0f, inf, -inf, nan, 1e-30f, -1e-30f, 1e-40f, 88.0f, -88.0f, 104.0f,
                        -104.0f, 1e5f, -1e5f, 3e38f, -3e38f}) {
    result.push_back(x);
  }
  for (int i = -4000; i <= 4000; ++i) result.push_back(static_cast<float>(i) * 0.005f);
  return result;
}

double expected(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::leaky_relu:
      return x < 0 ? 0.2 * x : x;
  }
  return 0;
}

// The error in parts of the larger of 1 and the value: where an activation goes to 0 (gelu of -4),
// single precision keeps absolute digits only, in torch as here.
void expect_near(float got, double want, double tolerance, const std::string& what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what;
  } else if (std::isinf(want)) {
    EXPECT_EQ(got, want) << what;
  } else {
    EXPECT_NEAR(got, want, tolerance * std::max(1.0, std::abs(want))) << what;
  }
}

TEST(Activate, FollowsTheFormulaForAnyValue) {
  const std::vector<float> x = special_values();
  const int64_t count = static_cast<int64_t>(x.size());
  each_target([&] {
    for (const Activation kind :
         {Activation::none, Activation::silu, Activation::gelu, Activation::gelu_tanh,
          Activation::quick_gelu, Activation::relu, Activation::leaky_relu}) {
      std::vector<float> y(x.size());
      activate(x.data(), count, kind, y.data());
      for (size_t i = 0; i < x.size(); ++i) {
        // -inf: the reference yields -inf * 0, NaN, for all that multiply.
        expect_near(y[i], expected(kind, static_cast<double>(x[i])), 5e-7,
                    std::to_string(static_cast<int>(kind)) + " of " + std::to_string(x[i]));
      }
    }
  });
}

TEST(Activate, WorksInPlaceAtAnyCountAndAddress) {
  each_target([&] {
    for (const int64_t count : counts) {
      std::vector<float> x = values(count, 2);
      std::vector<float> y(x.size());
      activate(x.data() + 1, count, Activation::silu, y.data() + 1);
      activate(x.data() + 1, count, Activation::silu, x.data() + 1);
      EXPECT_TRUE(std::equal(x.begin() + 1, x.end(), y.begin() + 1));
    }
  });
}

TEST(SoftClamp, IsTanhOfTheQuotientTimesTheBound) {
  const std::vector<float> x = special_values();
  each_target([&] {
    std::vector<float> y(x.size());
    soft_clamp(x.data(), static_cast<int64_t>(x.size()), 3.0f, y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      expect_near(y[i], std::tanh(static_cast<double>(x[i]) / 3.0) * 3.0, 5e-7, "");
    }
  });
}

TEST(Add, IsTheScaledSum) {
  each_target([&] {
    for (const int64_t count : counts) {
      const std::vector<float> a = values(count, 2), b = values(count, 3);
      std::vector<float> y(a.size() + 1, 77.0f);
      add(a.data() + 1, b.data() + 1, count, 0.7f, y.data());
      for (int64_t i = 0; i < count; ++i) {
        const size_t at = static_cast<size_t>(i);
        ASSERT_EQ(y[at], (a[at + 1] + b[at + 1]) * 0.7f);
      }
      EXPECT_EQ(y[static_cast<size_t>(count)], 77.0f);
    }
  });
}

TEST(Affine, IsTheScaledValuePlusTheShift) {
  each_target([&] {
    for (const int64_t count : counts) {
      const std::vector<float> x = values(count, 2);
      std::vector<float> y(x.size() + 1, 77.0f);
      affine(x.data() + 1, count, 0.7f, -2.5f, y.data());
      for (int64_t i = 0; i < count; ++i) {
        const double want = static_cast<double>(x[static_cast<size_t>(i) + 1]) * 0.7f - 2.5;
        ASSERT_NEAR(y[static_cast<size_t>(i)], want, 2e-6);
      }
      EXPECT_EQ(y[static_cast<size_t>(count)], 77.0f);
    }
  });
}

TEST(Maps, NanAndInfinitiesPassThrough) {
  const std::vector<float> x = {nan, inf, -inf, 1.0f};
  each_target([&] {
    std::vector<float> y(4);
    add(x.data(), x.data(), 4, 1.0f, y.data());
    EXPECT_TRUE(std::isnan(y[0]) && y[1] == inf && y[2] == -inf && y[3] == 2.0f);
    affine(x.data(), 4, -1.0f, 5.0f, y.data());
    EXPECT_TRUE(std::isnan(y[0]) && y[1] == -inf && y[2] == inf && y[3] == 4.0f);
  });
}

// Of each row two halves after each other: `gate` is the one that is activated, and gates the
// other.
void expect_gated(void (*kernel)(const float*, int64_t, int64_t, int64_t, float*),
                  Activation activation, int64_t gate) {
  each_target([&] {
    for (const int64_t width : {1, 5, 16, 33, 1280}) {
      const int64_t rows = 37, stride = 2 * width + 1;
      const std::vector<float> x = values(rows * stride, 4);
      std::vector<float> y(static_cast<size_t>(rows * width));
      kernel(x.data() + 1, rows, width, stride, y.data());
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < width; ++i) {
          auto half = [&](int64_t h) {
            return static_cast<double>(x[static_cast<size_t>(1 + r * stride + h * width + i)]);
          };
          const double want = half(1 - gate) * expected(activation, half(gate));
          ASSERT_NEAR(y[static_cast<size_t>(r * width + i)], want, 1e-6 * (1 + std::abs(want)));
        }
      }
    }
  });
}

TEST(Geglu, GatesTheFirstHalfByTheSecond) {
  expect_gated(geglu, Activation::gelu, /*gate=*/1);
}

TEST(Swiglu, GatesTheSecondHalfByTheFirst) {
  expect_gated(swiglu, Activation::silu, /*gate=*/0);
}

TEST(Multiply, TakesValueByValue) {
  each_target([&] {
    const std::vector<float> x = values(70001, 1), other = values(70001, 2);
    std::vector<float> y(x.size());
    multiply(x.data(), other.data(), 70001, y.data());
    for (size_t i = 0; i < 70001; ++i) ASSERT_EQ(y[i], x[i] * other[i]);
  });
}

constexpr PixelShape pixel_shapes[] = {
    {1, 1, 1}, {2, 3, 5}, {3, 7, 16}, {2, 11, 37}, {2, 100, 320}};

TEST(Modulate, ScalesByOnePlusScaleAndShifts) {
  each_target([&] {
    for (const PixelShape& shape : pixel_shapes) {
      const int64_t stride = 2 * shape.channels;
      const std::vector<float> x = values(shape.batch * shape.pixels * shape.channels, 1);
      const std::vector<float> terms = values(shape.batch * stride, 2);
      std::vector<float> y(x.size());
      modulate(shape, x.data() + 1, terms.data(), terms.data() + shape.channels, stride, y.data());
      for (int64_t pixel = 0; pixel < shape.batch * shape.pixels; ++pixel) {
        for (int64_t c = 0; c < shape.channels; ++c) {
          const size_t at = static_cast<size_t>(pixel * shape.channels + c);
          const size_t term = static_cast<size_t>(pixel / shape.pixels * stride + c);
          const double scale = 1.0 + terms[term];
          const double shift = terms[term + static_cast<size_t>(shape.channels)];
          const double want = x[at + 1] * scale + shift;
          ASSERT_NEAR(y[at], want, 1e-6 * (10 + std::abs(want)));
        }
      }
    }
  });
}

TEST(Gate, ScalesByTheSamplesFactorsAndAdds) {
  each_target([&] {
    for (const PixelShape& shape : pixel_shapes) {
      for (const int64_t stride : {int64_t{0}, shape.channels + 3}) {
        const int64_t count = shape.batch * shape.pixels * shape.channels;
        const std::vector<float> x = values(count, 1), residual = values(count, 3);
        const std::vector<float> factor = values(shape.batch * (shape.channels + 3), 2);
        std::vector<float> alone(x.size()), added(x.size());
        gate(shape, x.data(), factor.data(), stride, nullptr, alone.data());
        gate(shape, x.data(), factor.data(), stride, residual.data(), added.data());
        for (int64_t i = 0; i < count; ++i) {
          const size_t at = static_cast<size_t>(i);
          const int64_t sample = i / (shape.pixels * shape.channels);
          const double want = double(x[at]) * factor[size_t(sample * stride + i % shape.channels)];
          ASSERT_NEAR(alone[at], want, 1e-6 * (1 + std::abs(want)));
          ASSERT_NEAR(added[at], want + residual[at], 1e-6 * (3 + std::abs(want)));
        }
      }
    }
  });
}

TEST(ConcatRows, JoinsTheRowsOfTwoTensors) {
  for (const auto& [rows, a, b] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                   {5, 3, 7},
                                   {300, 320, 640},
                                   {2, 50000, 9}}) {
    const std::vector<float> first = values(rows * a, 1), second = values(rows * b, 2);
    std::vector<float> y(static_cast<size_t>(rows * (a + b)));
    concat_rows(rows, first.data(), a, second.data(), b, y.data());
    for (int64_t r = 0; r < rows; ++r) {
      const auto at = y.begin() + r * (a + b);
      EXPECT_TRUE(std::equal(at, at + a, first.begin() + r * a));
      EXPECT_TRUE(std::equal(at + a, at + a + b, second.begin() + r * b));
    }
  }
}

TEST(UpsampleNearest, TakesTheSourceIndexThatTorchTakes) {
  struct Resize {
    ImageShape from;
    int64_t height, width;
  };
  for (const Resize& r :
       {Resize{{1, 1, 1, 1}, 3, 2}, Resize{{2, 3, 5, 4}, 6, 10}, Resize{{2, 5, 7, 3}, 8, 9},
        Resize{{1, 6, 4, 1}, 3, 3}, Resize{{1, 33, 31, 40}, 66, 62}}) {
    const ImageShape& from = r.from;
    const std::vector<float> x = values(from.batch * from.height * from.width * from.channels, 1);
    std::vector<float> y(static_cast<size_t>(from.batch * r.height * r.width * from.channels));
    upsample_nearest(from, x.data(), r.height, r.width, y.data());
    const auto source = [](int64_t i, int64_t in, int64_t out) {
      return std::min<int64_t>(i * in / out, in - 1);
    };
    size_t at = 0;
    for (int64_t b = 0; b < from.batch; ++b) {
      for (int64_t row = 0; row < r.height; ++row) {
        for (int64_t column = 0; column < r.width; ++column) {
          const int64_t pixel =
              (b * from.height + source(row, from.height, r.height)) * from.width +
              source(column, from.width, r.width);
          for (int64_t c = 0; c < from.channels; ++c, ++at) {
            ASSERT_EQ(y[at], x[static_cast<size_t>(pixel * from.channels + c)]);
          }
        }
      }
    }
  }
}

TEST(AvgPool, IsTheMeanOfEachWholeWindow) {
  struct Pool {
    ImageShape from;
    int64_t size;
  };
  for (const Pool& p : {Pool{{1, 2, 2, 1}, 2}, Pool{{2, 5, 7, 3}, 2}, Pool{{1, 9, 9, 20}, 3},
                        Pool{{2, 40, 40, 33}, 2}, Pool{{1, 4, 4, 5}, 1}}) {
    const ImageShape& from = p.from;
    const std::vector<float> x = values(from.batch * from.height * from.width * from.channels, 1);
    const int64_t height = from.height / p.size, width = from.width / p.size;
    std::vector<float> y(static_cast<size_t>(from.batch * height * width * from.channels));
    avg_pool(from, x.data(), p.size, y.data());
    size_t at = 0;
    for (int64_t item = 0; item < from.batch * height * width; ++item) {
      const int64_t b = item / (height * width), row = item / width % height, column = item % width;
      for (int64_t c = 0; c < from.channels; ++c, ++at) {
        double sum = 0;
        for (int64_t i = 0; i < p.size * p.size; ++i) {
          const int64_t pixel = (b * from.height + row * p.size + i / p.size) * from.width +
                                column * p.size + i % p.size;
          sum += x[static_cast<size_t>(pixel * from.channels + c)];
        }
        ASSERT_NEAR(y[at], sum / static_cast<double>(p.size * p.size), 2e-6);
      }
    }
  }
}

TEST(Maps, TheNumberOfThreadsChangesNoBit) {
  const int before = team_size();
  const std::vector<float> x = values(200001, 1);
  std::vector<float> want(x.size()), got(x.size());
  set_team_size(1);
  activate(x.data(), 200001, Activation::gelu, want.data());
  set_team_size(3);
  activate(x.data(), 200001, Activation::gelu, got.data());
  EXPECT_EQ(got, want);
  set_team_size(before);
}

}  // namespace
}  // namespace omnirt::cpu
