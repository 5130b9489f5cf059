#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "int8_cases.hpp"

namespace omnirt::cpu {
namespace {

struct ConvCase {
  Int8ConvShape shape;
  Activation activation = Activation::none;
  bool bias = true, sample_bias = false, residual = false;
};

Int8ConvShape conv_shape(int64_t batch, int64_t in, int64_t out, int64_t height, int64_t width) {
  Int8ConvShape shape;
  shape.batch = batch;
  shape.in_channels = in;
  shape.out_channels = out;
  shape.in_height = height;
  shape.in_width = width;
  return shape;
}
Int8ConvShape with_kernel(Int8ConvShape shape, int64_t height, int64_t width, int64_t stride) {
  shape.kernel_height = height;
  shape.kernel_width = width;
  shape.stride = stride;
  return shape;
}
Int8ConvShape with_padding(Int8ConvShape shape, int64_t left, int64_t right, int64_t top,
                           int64_t bottom) {
  shape.left = left;
  shape.right = right;
  shape.top = top;
  shape.bottom = bottom;
  return shape;
}
Int8ConvShape with_upsampling(Int8ConvShape shape, int64_t height, int64_t width) {
  shape.up_height = height;
  shape.up_width = width;
  return shape;
}

// One convolution, with pixels apart and memory of odd alignment.
struct ConvRun {
  ConvRun(const ConvCase& conv, uint32_t seed) : all(conv), shape(conv.shape) {
    Numbers numbers(seed);
    const int64_t taps = shape.kernel_height * shape.kernel_width;
    x = numbers.take(1 + shape.batch * in_strides().batch);
    w = numbers.take(shape.out_channels * shape.in_channels * taps);
    bias = numbers.take(shape.out_channels);
    sample_bias = numbers.take(shape.batch * (shape.out_channels + 2));
    residual = numbers.take(1 + shape.batch * out_strides().batch);
    packed = pack_int8_conv({w.data(), WeightType::f32}, shape.out_channels, shape.in_channels,
                            shape.kernel_height, shape.kernel_width);
  }
  ConvStrides in_strides() const {
    const int64_t pixel = shape.in_channels + 2, row = shape.in_width * pixel + 1;
    return {shape.in_height * row + 3, row, pixel};
  }
  ConvStrides out_strides() const {
    const int64_t pixel = shape.out_channels + 1, row = shape.out_width() * pixel + 2;
    return {shape.out_height() * row + 1, row, pixel};
  }

  ConvEpilogue epilogue() const {
    ConvEpilogue e;
    e.activation = all.activation;
    if (all.bias) e.bias = bias.data();
    if (all.sample_bias)
      e.sample_bias = sample_bias.data(), e.sample_bias_stride = shape.out_channels + 2;
    if (all.residual) e.residual = residual.data() + 1, e.residual_strides = out_strides();
    return e;
  }

  std::vector<float> run(const Int8Kernels& kernels) const {
    std::vector<float> y(static_cast<size_t>(1 + shape.batch * out_strides().batch), -77.0f);
    int8_conv(kernels, shape, {x.data() + 1, in_strides()}, packed, epilogue(), y.data() + 1,
              out_strides());
    std::vector<float> result;
    each_output([&](int64_t b, int64_t r, int64_t c) {
      const float* pixel = y.data() + 1 + at(out_strides(), b, r, c);
      result.insert(result.end(), pixel, pixel + shape.out_channels);
      EXPECT_EQ(pixel[shape.out_channels], -77.0f) << "written past a pixel";
    });
    return result;
  }

  static int64_t at(const ConvStrides& s, int64_t b, int64_t r, int64_t c) {
    return b * s.batch + r * s.row + c * s.pixel;
  }
  template <class Body>
  void each_output(const Body& body) const {
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t r = 0; r < shape.out_height(); ++r)
        for (int64_t c = 0; c < shape.out_width(); ++c) body(b, r, c);
  }

  // Channels of the patch under an output, [channel][tap] as the weights have them.
  std::vector<float> patch(int64_t b, int64_t r, int64_t c) const {
    const int64_t taps = shape.kernel_height * shape.kernel_width;
    std::vector<float> values(static_cast<size_t>(shape.in_channels * taps));
    for (int64_t t = 0; t < taps; ++t) {
      int64_t y = r * shape.stride - shape.top + t / shape.kernel_width;
      int64_t column = c * shape.stride - shape.left + t % shape.kernel_width;
      if (y < 0 || y >= shape.conv_height() || column < 0 || column >= shape.conv_width()) continue;
      if (shape.up_height > 0) y = y * shape.in_height / shape.up_height;
      if (shape.up_width > 0) column = column * shape.in_width / shape.up_width;
      for (int64_t i = 0; i < shape.in_channels; ++i)
        values[static_cast<size_t>(i * taps + t)] =
            x[static_cast<size_t>(1 + at(in_strides(), b, y, column) + i)];
    }
    return values;
  }

  std::vector<double> expect(bool rounded) const {
    const size_t count = w.size() / static_cast<size_t>(shape.out_channels);
    std::vector<std::vector<double>> weights;
    for (size_t o = 0; o < w.size(); o += count)
      weights.push_back(rounded ? round_weights(w.data() + o, count)
                                : std::vector<double>(w.begin() + static_cast<long>(o),
                                                      w.begin() + static_cast<long>(o + count)));
    std::vector<double> result;
    each_output([&](int64_t b, int64_t r, int64_t c) {
      const std::vector<float> given = patch(b, r, c);
      const RoundedRow row = round_row(given);
      for (int64_t o = 0; o < shape.out_channels; ++o) {
        double sum = all.bias ? bias[static_cast<size_t>(o)] : 0;
        if (all.sample_bias)
          sum += sample_bias[static_cast<size_t>(b * (shape.out_channels + 2) + o)];
        if (all.residual) sum += residual[static_cast<size_t>(1 + at(out_strides(), b, r, c) + o)];
        for (size_t i = 0; i < count; ++i)
          sum += weights[static_cast<size_t>(o)][i] * (rounded ? row.value(i) : given[i]);
        result.push_back(activate(all.activation, sum));
      }
    });
    return result;
  }

  ConvCase all;
  Int8ConvShape shape;
  std::vector<float> x, w, bias, sample_bias, residual;
  PackedInt8 packed;
};

std::vector<ConvCase> conv_cases() {
  return {
      {conv_shape(1, 1, 1, 1, 1)},
      {conv_shape(2, 5, 7, 4, 5), Activation::silu, true, true, true},
      {conv_shape(1, 33, 40, 6, 3), Activation::none, false},
      {with_kernel(conv_shape(2, 16, 33, 7, 6), 3, 3, 2), Activation::none, true, true},
      {with_padding(with_kernel(conv_shape(1, 8, 12, 8, 6), 3, 3, 2), 0, 1, 0, 1)},
      {with_padding(conv_shape(1, 4, 3, 5, 5), 2, 0, 3, 1), Activation::relu},
      {with_padding(with_kernel(conv_shape(2, 70, 34, 5, 4), 1, 1, 1), 0, 0, 0, 0),
       Activation::none, true, false, true},
      {with_padding(with_kernel(conv_shape(1, 3, 9, 12, 9), 4, 2, 3), 1, 0, 2, 1)},
      {with_padding(with_kernel(conv_shape(1, 2, 5, 7, 7), 5, 5, 1), 2, 2, 2, 2)},
      {with_upsampling(conv_shape(2, 9, 10, 4, 3), 8, 6), Activation::silu, true, false, true},
      {with_upsampling(conv_shape(1, 6, 4, 4, 5), 7, 9)},
      {conv_shape(1, 128, 32, 5, 5), Activation::none, true, false, true},
  };
}

// As for the linear layers: sums are exact, scales and epilogue round.
TEST(Int8Conv, AgreesWithTheRoundedMathsOnEveryTarget) {
  uint32_t seed = 40;
  for (const ConvCase& conv : conv_cases()) {
    const ConvRun run(conv, ++seed);
    const std::vector<double> expected = run.expect(true);
    const double inner = static_cast<double>(run.packed.inner());
    for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
      const std::vector<float> y = run.run(kernels);
      ASSERT_EQ(y.size(), expected.size());
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i], expected[i], 2e-6 * (std::abs(expected[i]) + std::sqrt(inner) + 4))
            << target << " case " << seed << " at " << i;
    });
  }
}

TEST(Int8Conv, StaysWithin36DecibelsOfTheUnroundedConvolution) {
  const ConvRun run({conv_shape(1, 64, 32, 8, 8), Activation::none, false}, 9);
  EXPECT_GT(decibels(run.expect(false), run.run(int8_kernels())), 36);
}

// What one range for a whole sample could not: the other outputs would lose 30 dB.
TEST(Int8Conv, AnOutlierCoarsensOnlyTheOutputsThatSeeIt) {
  ConvRun run({conv_shape(1, 64, 32, 8, 8), Activation::none, false}, 9);
  run.x[static_cast<size_t>(1 + ConvRun::at(run.in_strides(), 0, 0, 0) + 5)] = 300.0f;
  const std::vector<double> expected = run.expect(false);
  const std::vector<float> y = run.run(int8_kernels());
  const size_t from = 2 * 8 * 32;
  const std::vector<double> far(expected.begin() + from, expected.end());
  EXPECT_GT(decibels(far, {y.begin() + from, y.end()}), 36);
}

TEST(Int8Conv, GivesASampleTheSameBitsWhateverTheBatchAndTheThreads) {
  const int before = team_size();
  ConvRun run({conv_shape(3, 40, 34, 16, 17), Activation::silu, true, true}, 3);
  for (const bool tiles : {false, true}) {
    const Int8Kernels kernels = int8_kernels(tiles);
    set_team_size(1);
    const std::vector<float> all = run.run(kernels);
    for (const int threads : {2, 7}) {
      set_team_size(threads);
      EXPECT_EQ(run.run(kernels), all);
    }
    run.shape.batch = 1;
    const std::vector<float> first = run.run(kernels);
    run.shape.batch = 3;
    EXPECT_EQ(first,
              std::vector<float>(all.begin(), all.begin() + static_cast<long>(first.size())));
  }
  set_team_size(before);
}

TEST(Int8Conv, TurnsTheOutputsThatSeeANanOrAnInfinityIntoNanAndNoOther) {
  ConvRun run({conv_shape(2, 20, 33, 6, 7)}, 4);
  const size_t at = static_cast<size_t>(1 + ConvRun::at(run.in_strides(), 1, 2, 3) + 19);
  for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
    const std::vector<float> sound = run.run(kernels);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      const float good = std::exchange(run.x[at], bad);
      const std::vector<float> y = run.run(kernels);
      run.x[at] = good;
      size_t i = 0;
      run.each_output([&](int64_t b, int64_t r, int64_t c) {
        const bool sees = b == 1 && std::abs(r - 2) <= 1 && std::abs(c - 3) <= 1;
        for (int64_t o = 0; o < 33; ++o, ++i) {
          if (sees)
            ASSERT_TRUE(std::isnan(y[i])) << target;
          else
            ASSERT_EQ(y[i], sound[i]) << target;
        }
      });
    }
  });
}

TEST(Int8Conv, RefusesAWeightOfOtherSizes) {
  const ConvRun run({conv_shape(1, 8, 9, 4, 4)}, 5);
  Int8ConvShape shape = run.shape;
  shape.in_channels = 7;
  std::vector<float> y(4 * 4 * 9);
  EXPECT_THROW(int8_conv(shape, {run.x.data(), run.in_strides()}, run.packed, {}, y.data(),
                         run.out_strides()),
               InternalError);
}

}  // namespace
}  // namespace omnirt::cpu
