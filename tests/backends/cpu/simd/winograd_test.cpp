#include "backends/cpu/simd/winograd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/simd/each_target.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace omnirt::cpu {
namespace {

// F(4x4,3x3) multiplies by numbers up to 8 and divides by up to 24: its rounding errors come to
// about 2e-6 of the largest output; 5e-6 leaves room for the small channel counts, where the largest
// output is not much above the others. F(2x2,3x3) only adds, and halves: 2e-6.
double tolerance(ConvChoice form) { return form == ConvChoice::winograd4 ? 5e-6 : 2e-6; }

// A tensor [B][H][W][C] with gaps between pixels, rows and samples, one float off any alignment.
struct Image {
  ConvStrides strides;
  std::vector<float> memory;
  float* data() { return memory.data() + 1; }
  const float* data() const { return memory.data() + 1; }
  float& at(int64_t b, int64_t h, int64_t w, int64_t c) {
    return data()[b * strides.batch + h * strides.row + w * strides.pixel + c];
  }
};

Image make_image(int64_t batch, int64_t height, int64_t width, int64_t channels, unsigned seed) {
  Image image;
  image.strides.pixel = channels + 3;
  image.strides.row = width * image.strides.pixel + 5;
  image.strides.batch = height * image.strides.row + 7;
  image.memory.resize(static_cast<size_t>(batch * image.strides.batch + 1));
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : image.memory) value = uniform(engine);
  return image;
}

// The bytes of a checkpoint: one byte (two-byte types: three) off any alignment.
struct Weights {
  WeightType type;
  std::vector<float> values;  // as stored, widened
  std::vector<uint8_t> bytes;
  ConvWeights view() const { return {bytes.data() + 1, type}; }
};

// The nearest numbers of a type come from clearing low bits: exact in f16 for |x| in [2^-4, 2).
Weights make_weights(const WinogradShape& shape, WeightType type) {
  Weights weights{type, {}, {}};
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(0.1f, 1);
  const size_t size = type == WeightType::f32 ? 4 : 2;
  const size_t count = static_cast<size_t>(shape.in_channels * shape.out_channels * 9);
  weights.bytes.resize(count * size + 1);
  for (size_t i = 0; i < count; ++i) {
    float value = uniform(engine) * (engine() % 2 ? 1.0f : -1.0f);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (type != WeightType::f32) bits &= type == WeightType::bf16 ? 0xffff0000u : 0xffffe000u;
    std::memcpy(&value, &bits, 4);
    weights.values.push_back(value);
    uint16_t half = static_cast<uint16_t>(bits >> 16);
    if (type == WeightType::f16)
      half = static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10)));
    std::memcpy(weights.bytes.data() + 1 + i * size,
                size == 4 ? static_cast<void*>(&bits) : static_cast<void*>(&half), size);
  }
  return weights;
}

double activated(Activation kind, double x) {
  const double tanh_inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(tanh_inner));
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return std::max(x, 0.0);
  }
  return x;
}

struct Problem {
  WinogradShape shape;
  Image x, residual, y;
  std::vector<float> bias, sample_bias;
  Weights weights;
  ConvEpilogue epilogue;

  explicit Problem(const WinogradShape& s, WeightType type = WeightType::f32, bool rich = false)
      : shape(s),
        x(make_image(s.batch, s.in_height, s.in_width, s.in_channels, 1)),
        residual(make_image(s.batch, s.out_height(), s.out_width(), s.out_channels, 2)),
        y(make_image(s.batch, s.out_height(), s.out_width(), s.out_channels, 3)),
        weights(make_weights(s, type)) {
    if (!rich) return;
    for (int64_t o = 0; o < s.out_channels; ++o) bias.push_back(0.1f * static_cast<float>(o % 7));
    for (int64_t i = 0; i < s.batch * (s.out_channels + 2); ++i)
      sample_bias.push_back(0.2f * static_cast<float>(i % 5));
    use_epilogue();
  }
  void use_epilogue() {
    epilogue.bias = bias.data();
    epilogue.sample_bias = sample_bias.data();
    epilogue.sample_bias_stride = shape.out_channels + 2;
    epilogue.residual = residual.data();
    epilogue.residual_strides = residual.strides;
  }
  void run(ConvChoice form) {
    winograd_conv(form, shape, {x.data(), x.strides}, weights.view(), epilogue, y.data(),
                  y.strides);
  }
  void run_packed(ConvChoice form) {
    const PackedWinograd packed =
        pack_winograd(form, shape.in_channels, shape.out_channels, weights.view());
    EXPECT_EQ(packed.bytes(), packed_winograd_bytes(form, shape.in_channels, shape.out_channels));
    winograd_conv(shape, {x.data(), x.strides}, packed, epilogue, y.data(), y.strides);
  }

  double sum_at(int64_t b, int64_t h, int64_t w, int64_t o) {
    double sum = 0;
    for (int64_t ky = 0; ky < 3; ++ky)
      for (int64_t kx = 0; kx < 3; ++kx) {
        const int64_t r = h + ky - shape.top, c = w + kx - shape.left;
        if (r < 0 || c < 0 || r >= shape.conv_height() || c >= shape.conv_width()) continue;
        const int64_t sr = r * shape.in_height / shape.conv_height();
        const int64_t sc = c * shape.in_width / shape.conv_width();
        for (int64_t i = 0; i < shape.in_channels; ++i)
          sum += double{x.at(b, sr, sc, i)} *
                 weights.values[static_cast<size_t>(((o * shape.in_channels + i) * 3 + ky) * 3 + kx)];
      }
    return sum;
  }
  double expected(int64_t b, int64_t h, int64_t w, int64_t o) {
    double sum = sum_at(b, h, w, o);
    if (epilogue.bias) sum += bias[static_cast<size_t>(o)];
    if (epilogue.sample_bias)
      sum += sample_bias[static_cast<size_t>(b * epilogue.sample_bias_stride + o)];
    if (epilogue.residual) sum += residual.at(b, h, w, o);
    return activated(epilogue.activation, sum);
  }

  template <class Body>
  void each_output(const Body& body) {
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t h = 0; h < shape.out_height(); ++h)
        for (int64_t w = 0; w < shape.out_width(); ++w)
          for (int64_t o = 0; o < shape.out_channels; ++o) body(b, h, w, o);
  }
  // All outputs' expected values, and the largest.
  std::vector<double> reference(double* largest) {
    std::vector<double> values;
    each_output([&](int64_t b, int64_t h, int64_t w, int64_t o) {
      values.push_back(expected(b, h, w, o));
      *largest = std::max(*largest, std::abs(values.back()));
    });
    return values;
  }
};

constexpr ConvChoice forms[] = {ConvChoice::winograd4, ConvChoice::winograd2};

// Compares with the reference, and checks that what lies between the pixels of y is untouched.
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
      SCOPED_TRACE(form == ConvChoice::winograd4 ? "F4" : "F2");
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
  for (const auto [in, out, height, width] :
       {std::array<int64_t, 4>{1, 1, 1, 1}, {1, 3, 2, 3}, {3, 4, 5, 7}, {4, 5, 9, 9},
        {5, 33, 4, 4},  {17, 31, 6, 8}, {32, 64, 8, 8}, {33, 66, 3, 13}, {64, 3, 11, 10},
        {200, 20, 5, 6}, {7, 130, 1, 9}, {350, 9, 4, 3}}) {
    const WinogradShape shape{.batch = 2, .in_channels = in, .out_channels = out,
                              .in_height = height, .in_width = width};
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
    WinogradShape shape{.batch = 1, .in_channels = 6, .out_channels = 5, .in_height = 7, .in_width = 6};
    shape.left = bits & 1;
    shape.right = bits >> 1 & 1;
    shape.top = bits >> 2 & 1;
    shape.bottom = bits >> 3 & 1;
    SCOPED_TRACE(bits);
    check(shape, WeightType::f32, false);
  }
  WinogradShape wide{.batch = 1, .in_channels = 6, .out_channels = 5, .in_height = 3, .in_width = 4};
  wide.left = 9, wide.right = 2, wide.top = 0, wide.bottom = 6;
  check(wide, WeightType::f32, false);
}

TEST(Winograd, ConvolvesTheNearestUpsampledPictureWithoutMakingIt) {
  for (const auto [height, width] :
       {std::array<int64_t, 2>{10, 12}, {9, 11}, {5, 6}, {15, 7}, {17, 23}}) {
    WinogradShape shape{.batch = 2, .in_channels = 6, .out_channels = 5, .in_height = 5, .in_width = 6};
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
  for (const Activation kind : {Activation::none, Activation::silu, Activation::gelu,
                                Activation::gelu_tanh, Activation::quick_gelu, Activation::relu})
    for (const int64_t out : {37, 64}) {
      SCOPED_TRACE(static_cast<int>(kind));
      check({.batch = 3, .in_channels = 8, .out_channels = out, .in_height = 6, .in_width = 5},
            WeightType::f32, true, kind);
    }
}

TEST(Winograd, WritesOnlyTheOutputsOfY) {
  Problem problem({.batch = 2, .in_channels = 5, .out_channels = 35, .in_height = 5, .in_width = 7});
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
    Problem problem({.batch = 2, .in_channels = 170, .out_channels = 70, .in_height = 9, .in_width = 6},
                    type, true);
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
  const WinogradShape shape{.batch = 5, .in_channels = 40, .out_channels = 70, .in_height = 13, .in_width = 18};
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
        winograd_conv(form, alone.shape, {alone.x.data() + b * alone.x.strides.batch, alone.x.strides},
                      alone.weights.view(), epilogue, alone.y.data() + b * alone.y.strides.batch,
                      alone.y.strides);
      }
      EXPECT_EQ(alone.y.memory, batch.y.memory);
    }
  });
}

TEST(Winograd, GivesTheSameBitsOnAnyNumberOfThreads) {
  Problem problem({.batch = 2, .in_channels = 170, .out_channels = 70, .in_height = 30, .in_width = 31},
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
      for (const float value : {std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::infinity()}) {
        Problem problem({.batch = 2, .in_channels = 20, .out_channels = 6, .in_height = 14, .in_width = 15});
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

}  // namespace
}  // namespace omnirt::cpu
