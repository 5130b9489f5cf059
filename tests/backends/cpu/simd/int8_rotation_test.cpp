#include <gtest/gtest.h>

#include "int8_cases.hpp"

namespace omnirt::cpu {
namespace {

// Element (i, j) of the Kronecker power of the 4x4 matrix with -1 opposite each place.
double hadamard(size_t i, size_t j, size_t group) {
  double value = 1;
  for (size_t step = 1; step < group; step *= 4)
    value *= i / step % 4 + j / step % 4 == 3 ? -0.5 : 0.5;
  return value;
}

TEST(Int8Rotation, IsTheProductWithAnOrthonormalHadamardMatrixAndItsOwnInverse) {
  for_each_int8_target([](const Int8Kernels& kernels, const std::string& target) {
    for (const size_t group : {16u, 64u, 256u}) {
      const std::vector<float> x = Numbers(3).take(static_cast<int64_t>(2 * group));
      std::vector<float> turned(x.size());
      kernels.rotate(x.data(), x.size(), group, turned.data());
      for (size_t i = 0; i < x.size(); ++i) {
        double sum = 0;
        for (size_t j = 0; j < group; ++j)
          sum += hadamard(i % group, j, group) * x[i / group * group + j];
        EXPECT_NEAR(turned[i], sum, 1e-5) << target << " " << group << " at " << i;
      }
      kernels.rotate(turned.data(), turned.size(), group, turned.data());
      for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(turned[i], x[i], 1e-5) << target;
    }
  });
}

TEST(Int8Rotation, GivesTheSameBitsOnEveryTarget) {
  const std::vector<float> x = Numbers(4).take(512);
  std::vector<float> first;
  for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
    std::vector<float> turned(x.size());
    kernels.rotate(x.data(), x.size(), 256, turned.data());
    if (first.empty()) first = turned;
    EXPECT_EQ(turned, first) << target;
  });
}

TEST(Int8Rotation, GroupsDivideTheInputs) {
  EXPECT_EQ(int8_group(1280), 256);
  EXPECT_EQ(int8_group(320), 64);
  EXPECT_EQ(int8_group(48), 16);
  EXPECT_EQ(int8_group(4), 1);
  EXPECT_EQ(int8_group(24), 1);
}

// Two channels of x and two of w that are 100 times as large as the others.
struct Outliers {
  int64_t m = 24, n = 40, k;
  std::vector<float> x, w;
  std::vector<double> exact;

  Outliers(int64_t columns, bool positive) : k(columns), x(Numbers(5).take(m * k)) {
    w = Numbers(6).take(n * k);
    for (float& value : x)
      if (positive) value = std::abs(value);
    for (int64_t i = 0; i < m; ++i) x[at(i, 7)] *= 100, x[at(i, k - 3)] *= 100;
    for (int64_t j = 0; j < n; ++j) w[at(j, 20)] *= 100, w[at(j, k / 2)] *= 100;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t c = 0; c < k; ++c) sum += static_cast<double>(x[at(i, c)]) * w[at(j, c)];
        exact.push_back(sum);
      }
  }
  size_t at(int64_t row, int64_t column) const { return static_cast<size_t>(row * k + column); }

  double linear(const Int8Kernels& kernels, int64_t group) const {
    std::vector<float> y(exact.size());
    const PackedInt8 packed = pack_int8({w.data(), WeightType::f32, n, k, 0}, false, {}, group);
    int8_linear(kernels, {m, n, k, x.data(), k, y.data(), n, {}}, packed);
    return decibels(exact, y);
  }

  // The same as a convolution of 1x1.
  double convolution(const Int8Kernels& kernels, int64_t group) const {
    std::vector<float> y(exact.size()), turned = x;
    if (group > 1) int8_rotate(x.data(), m, k, group, turned.data());
    const PackedInt8 packed = pack_int8_conv({w.data(), WeightType::f32}, n, k, 1, 1, {}, group);
    const Int8ConvShape shape{1, k, n, 4, m / 4, 0, 0, 1, 1, 1, 0, 0, 0, 0};
    const int64_t width = m / 4;
    int8_conv(kernels, shape, {turned.data(), {m * k, width * k, k}}, packed, {}, y.data(),
              {m * n, width * n, n});
    return decibels(exact, y);
  }
};

TEST(Int8Rotation, SparesTenDecibelsWhereChannelsStandOut) {
  for_each_int8_target([](const Int8Kernels& kernels, const std::string& target) {
    for (const bool positive : {false, true})
      for (const int64_t k : {320, 1280}) {
        const Outliers outliers(k, positive);
        const int64_t group = int8_group(k);
        EXPECT_GT(outliers.linear(kernels, group), outliers.linear(kernels, 1) + 10)
            << target << " " << k;
        EXPECT_GT(outliers.convolution(kernels, group), outliers.convolution(kernels, 1) + 10)
            << target << " " << k;
      }
  });
}

// A file of weights that were rotated and rounded so is widened as it is read, its rotation undone.
TEST(Int8Rotation, GivesTheBytesOfAFileThatWasRotatedBack) {
  for_each_int8_target([](const Int8Kernels& kernels, const std::string& target) {
    constexpr size_t rows = int8_panel, columns = 512;
    Numbers numbers(10);
    std::vector<int8_t> bytes(rows * columns);
    std::vector<float> widened(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<int8_t>(static_cast<int>(numbers.bits() % 255) - 127);
      if (i % columns == 5) bytes[i] = -127;
      widened[i] = 0.013f * static_cast<float>(1 + i / columns) * bytes[i];
    }
    kernels.rotate(widened.data(), widened.size(), 256, widened.data());
    const PackedInt8 packed =
        pack_int8({widened.data(), WeightType::f32, rows, columns, 0}, false, {}, 256);
    const Int8View view(packed);
    for (size_t n = 0; n < rows; ++n)
      for (size_t p = 0; p < columns; ++p)
        ASSERT_EQ(view.data[p / 4 * int8_panel * 4 + n * 4 + p % 4], bytes[n * columns + p])
            << target << " row " << n << " at " << p;
  });
}

// Taps are between a filter's channels in a file, and are not rotated with them.
TEST(Int8Rotation, OfAConvolutionIsOverItsChannels) {
  constexpr int64_t channels = 16, outs = 5, size = 6;
  const std::vector<float> x = Numbers(8).take(size * size * channels);
  const std::vector<float> w = Numbers(9).take(outs * channels * 9);
  std::vector<float> turned = x, plain(size * size * outs), rotated = plain;
  int8_rotate(x.data(), size * size, channels, 16, turned.data());
  const Int8ConvShape shape{1, channels, outs, size, size};
  const ConvStrides in{size * size * channels, size * channels, channels};
  const ConvStrides out{size * size * outs, size * outs, outs};
  const ConvWeights weights{w.data(), WeightType::f32};
  int8_conv(shape, {x.data(), in}, pack_int8_conv(weights, outs, channels, 3, 3), {}, plain.data(),
            out);
  int8_conv(shape, {turned.data(), in}, pack_int8_conv(weights, outs, channels, 3, 3, {}, 16), {},
            rotated.data(), out);
  EXPECT_GT(decibels({plain.begin(), plain.end()}, rotated), 33);  // each is right to 36
}

}  // namespace
}  // namespace omnirt::cpu
