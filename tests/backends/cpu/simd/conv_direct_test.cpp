#include "backends/cpu/simd/conv_direct.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backends/cpu/simd/gemm_fixture.hpp"
#include "backends/cpu/simd/thread_team.hpp"

namespace omnirt::cpu {
namespace {

struct Options {
  WeightType type = WeightType::f32;
  Activation activation = Activation::none;
  bool bias = true, sample_bias = false, residual = false, packed = false;
  int64_t spare = 0;  // floats between the pixels of x, y and the residual
  size_t shift = 0;
};

DirectConvShape shape_of(int64_t batch, int64_t in, int64_t out, int64_t height, int64_t width,
                         int64_t kernel, int64_t stride, std::array<int64_t, 4> padding) {
  DirectConvShape shape;
  shape.batch = batch, shape.in_channels = in, shape.out_channels = out;
  shape.in_height = height, shape.in_width = width;
  shape.kernel_height = shape.kernel_width = kernel;
  shape.stride = stride, shape.padding = padding;
  return shape;
}

struct Operands {
  Operands(const DirectConvShape& s, const Options& o) : shape(s), options(o) {
    const int64_t in_pixels = s.batch * s.in_height * s.in_width;
    const int64_t out_pixels = s.batch * s.out_height() * s.out_width();
    x = random_floats(in_pixels * (s.in_channels + o.spare), 1);
    w = StoredWeights(random_floats(s.out_channels * s.in_channels * s.taps(), 2), o.type, o.shift);
    bias = random_floats(s.out_channels, 3);
    sample_bias = random_floats(s.batch * s.out_channels, 4);
    residual = random_floats(out_pixels * (s.out_channels + o.spare), 5);
    y.assign(residual.size(), 77.0f);
  }

  DirectConvArgs args() {
    DirectConvArgs args;
    args.shape = shape;
    args.x = x.data(), args.x_pixel = shape.in_channels + options.spare;
    args.y = y.data(), args.y_pixel = shape.out_channels + options.spare;
    if (options.bias) args.bias = bias.data();
    if (options.sample_bias) args.sample_bias = sample_bias.data();
    args.sample_bias_stride = shape.out_channels;
    if (options.residual) args.residual = residual.data();
    args.residual_pixel = shape.out_channels + options.spare;
    args.activation = options.activation;
    return args;
  }

  void run() {
    if (options.packed) {
      conv_direct(args(), pack_conv(shape, {w.data(), options.type}));
    } else {
      conv_direct(args(), {w.data(), options.type});
    }
  }

  // x of the padded, upsampled image, all channels; null in the padding.
  const float* pixel(int64_t sample, int64_t h, int64_t w_place) const {
    h -= shape.padding[2], w_place -= shape.padding[0];
    if (h < 0 || h >= shape.conv_height() || w_place < 0 || w_place >= shape.conv_width()) {
      return nullptr;
    }
    const int64_t row = h * shape.in_height / shape.conv_height();
    const int64_t column = w_place * shape.in_width / shape.conv_width();
    return &x[((sample * shape.in_height + row) * shape.in_width + column) *
              (shape.in_channels + options.spare)];
  }

  // The output and the sum of magnitudes behind it.
  std::pair<double, double> expected(int64_t sample, int64_t h, int64_t column, int64_t o) const {
    double sum = 0, size = 1;
    for (int64_t i = 0; i < shape.kernel_height; ++i) {
      for (int64_t j = 0; j < shape.kernel_width; ++j) {
        const float* from = pixel(sample, h * shape.stride + i, column * shape.stride + j);
        for (int64_t c = 0; from && c < shape.in_channels; ++c) {
          const int64_t place =
              (o * shape.in_channels + c) * shape.taps() + i * shape.kernel_width + j;
          const double term = static_cast<double>(from[c]) * static_cast<double>(w.values[place]);
          sum += term, size += std::abs(term);
        }
      }
    }
    if (options.bias) sum += bias[o];
    if (options.sample_bias) sum += sample_bias[sample * shape.out_channels + o];
    const int64_t at = (sample * shape.out_height() + h) * shape.out_width() + column;
    if (options.residual) sum += residual[at * (shape.out_channels + options.spare) + o];
    return {activated(sum, options.activation), size + std::abs(sum)};
  }

  DirectConvShape shape;
  Options options;
  StoredWeights w;
  std::vector<float> x, bias, sample_bias, residual, y;
};

// Single precision over a chain of k terms, as for the matrix product.
void expect_right(const DirectConvShape& shape, const Options& options = {}) {
  Operands o(shape, options);
  o.run();
  int wrong = 0;
  const double k = static_cast<double>(shape.in_channels * shape.taps());
  const float* y = o.y.data();
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t h = 0; h < shape.out_height(); ++h) {
      for (int64_t w = 0; w < shape.out_width(); ++w, y += shape.out_channels + options.spare) {
        for (int64_t c = 0; c < shape.out_channels; ++c) {
          const auto [value, size] = o.expected(b, h, w, c);
          const double allowed = 1.2e-7 * size * (4 + std::sqrt(k));
          if (!(std::abs(y[c] - value) <= allowed) && wrong++ == 0) {
            ADD_FAILURE() << "y[" << b << "," << h << "," << w << "," << c << "] is " << y[c]
                          << ", expected " << value;
          }
        }
        for (int64_t c = 0; c < options.spare; ++c) wrong += y[shape.out_channels + c] != 77.0f;
      }
    }
  }
  EXPECT_EQ(wrong, 0) << shape.in_channels << " -> " << shape.out_channels << ", "
                      << shape.in_height << "x" << shape.in_width << ", kernel "
                      << shape.kernel_height << ", stride " << shape.stride;
}

class ConvDirect : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, ConvDirect, testing::ValuesIn(machine_targets()), target_name);

TEST_P(ConvDirect, AgreesWithDoublePrecisionOverKernelsStridesAndPadding) {
  for (const int64_t kernel : {1, 2, 3, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const auto& padding :
           {std::array<int64_t, 4>{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 0, 1}, {2, 0, 1, 3}}) {
        expect_right(shape_of(2, 5, 7, 6, 9, kernel, stride, padding));
      }
    }
  }
}

TEST_P(ConvDirect, AgreesOverNumbersOfChannels) {
  const std::array<int64_t, 4> same{1, 1, 1, 1};
  for (const auto& [in, out] : {std::pair{4, 40}, {40, 4}, {1, 1}, {130, 3}, {75, 33}, {3, 17}}) {
    expect_right(shape_of(1, in, out, 5, 6, 3, 1, same));
    expect_right(shape_of(2, in, out, 6, 5, 3, 2, same));
    expect_right(shape_of(2, in, out, 6, 5, 1, 1, {}));
  }
}

TEST_P(ConvDirect, TakesKernelsThatAreNotSquare) {
  DirectConvShape shape = shape_of(1, 6, 9, 7, 8, 3, 1, {0, 0, 1, 1});
  shape.kernel_width = 1;
  expect_right(shape);
  shape = shape_of(1, 6, 9, 7, 8, 3, 2, {1, 1, 0, 0});
  shape.kernel_height = 1;
  expect_right(shape);
}

TEST_P(ConvDirect, UpsamplesByIndex) {
  for (const auto& [height, width] : {std::pair{10, 14}, {7, 9}, {5, 7}, {15, 21}}) {
    DirectConvShape shape = shape_of(2, 6, 20, 5, 7, 3, 1, {1, 1, 1, 1});
    shape.up_height = height, shape.up_width = width;
    expect_right(shape);
    shape.kernel_height = shape.kernel_width = 1;
    expect_right(shape);
  }
}

TEST_P(ConvDirect, AppliesEachPartOfTheEpilogueWithSpareFloatsBetweenPixels) {
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16}) {
    for (const bool packed : {false, true}) {
      for (const int64_t kernel : {1, 3}) {
        const Options options{type, Activation::silu, true, true, true, packed, 3, 1};
        expect_right(shape_of(3, 60, 35, 5, 4, kernel, 1, {1, 1, 1, 1}), options);
        expect_right(shape_of(3, 60, 35, 5, 4, kernel, 1, {}), options);
      }
    }
  }
}

TEST_P(ConvDirect, GivesASampleItsOwnBitsInAnyBatchAndForAnyThreads) {
  const int before = team_size();
  const DirectConvShape shape = shape_of(3, 70, 40, 9, 8, 3, 2, {0, 1, 0, 1});
  set_team_size(1);
  Operands all(shape, {});
  all.run();
  set_team_size(3);
  Operands threaded(shape, {});
  threaded.run();
  EXPECT_EQ(all.y, threaded.y);
  DirectConvShape one = shape;
  one.batch = 1;
  Operands alone(one, {});
  const auto sample = static_cast<int64_t>(alone.x.size());
  std::copy_n(all.x.begin() + sample, sample, alone.x.begin());
  alone.run();
  EXPECT_TRUE(std::equal(alone.y.begin(), alone.y.end(),
                         all.y.begin() + static_cast<int64_t>(alone.y.size())));
  set_team_size(before);
}

TEST_P(ConvDirect, PassesNanToJustTheOutputsWhoseWindowHoldsIt) {
  const DirectConvShape shape = shape_of(2, 50, 20, 8, 8, 3, 1, {1, 1, 1, 1});
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Operands o(shape, {});
    o.x[((8 + 3) * 8 + 5) * 50 + 44] = bad;  // sample 1, row 3, column 5
    o.run();
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t h = 0; h < 8; ++h) {
        for (int64_t w = 0; w < 8; ++w) {
          const bool touched = b == 1 && std::abs(h - 3) <= 1 && std::abs(w - 5) <= 1;
          for (int64_t c = 0; c < 20; ++c) {
            EXPECT_EQ(std::isfinite(o.y[((b * 8 + h) * 8 + w) * 20 + c]), !touched);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace omnirt::cpu
