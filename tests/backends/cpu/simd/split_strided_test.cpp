#include <array>
#include <cmath>
#include <vector>

#include "backends/cpu/simd/conv_direct.hpp"
#include "split_ways.hpp"

namespace omnirt::cpu {
namespace {

// Numbers that bf16 holds, so that only the order of sums is another one's.
std::vector<float> exact_numbers(int64_t count, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 24) % 33 - 16) / 8;
  }
  return values;
}

struct Strided {
  int64_t in, out, height, width, kernel, stride;
  std::array<int64_t, 4> padding;  // left, right, top, bottom
  int64_t up = 0;
};

struct StridedRun {
  explicit StridedRun(const Strided& c)
      : shape{batch, c.in,     c.out,    c.height, c.width,  c.up,
              c.up,  c.kernel, c.kernel, c.stride, c.padding},
        x(exact_numbers(batch * c.height * c.width * c.in, 1)),
        w(exact_numbers(c.in * c.out * c.kernel * c.kernel, 2)),
        bias(exact_numbers(c.out, 3)),
        sample_bias(exact_numbers(batch * c.out, 4)),
        residual(exact_numbers(outputs(), 5)) {}
  int64_t outputs() const {
    return batch * shape.out_height() * shape.out_width() * shape.out_channels;
  }

  std::vector<float> direct() const {
    std::vector<float> y(residual.size());
    conv_direct({shape, x.data(), shape.in_channels, y.data(), shape.out_channels, bias.data(),
                 sample_bias.data(), shape.out_channels, residual.data(), shape.out_channels},
                {w.data(), WeightType::f32});
    return y;
  }

  std::vector<float> rounded(const SplitKernels& kernels) const {
    std::vector<float> y(residual.size());
    const auto& [left, right, top, bottom] = shape.padding;
    SplitConv conv{};
    conv.shape = {batch,
                  shape.in_channels,
                  shape.out_channels,
                  shape.in_height,
                  shape.in_width,
                  shape.up_height,
                  shape.up_width,
                  left,
                  right,
                  top,
                  bottom};
    conv.kernel = shape.kernel_height;
    conv.stride = shape.stride;
    conv.x.data = x.data();
    conv.x.strides = strides(shape.in_height, shape.in_width, shape.in_channels);
    conv.weights = {w.data(), WeightType::f32};
    conv.y = y.data();
    conv.y_strides = strides(shape.out_height(), shape.out_width(), shape.out_channels);
    conv.epilogue = {bias.data(), sample_bias.data(), shape.out_channels, residual.data(),
                     conv.y_strides};
    conv_split(kernels, conv);
    return y;
  }

  static ConvStrides strides(int64_t height, int64_t width, int64_t channels) {
    return {height * width * channels, width * channels, channels};
  }

  static constexpr int64_t batch = 2;
  DirectConvShape shape;
  std::vector<float> x, w, bias, sample_bias, residual;
};

TEST(RoundedConvolution, TakesAnyStrideAndPadding) {
  for_each_way(
      [](const SplitKernels& kernels) {
        for (const Strided& c :
             {Strided{24, 40, 9, 8, 3, 2, {1, 1, 1, 1}}, Strided{70, 33, 8, 11, 3, 2, {0, 1, 0, 1}},
              Strided{32, 64, 7, 7, 1, 2, {0, 0, 0, 0}}, Strided{40, 24, 6, 5, 2, 1, {1, 0, 0, 1}},
              Strided{40, 24, 6, 5, 3, 1, {2, 0, 0, 1}},
              Strided{24, 32, 5, 5, 3, 2, {1, 1, 1, 1}, 9},
              Strided{330, 24, 40, 30, 3, 2, {1, 1, 1, 1}}}) {
          const StridedRun run(c);
          const std::vector<float> expected = run.direct(), got = run.rounded(kernels);
          double worst = 0;
          for (size_t i = 0; i < got.size(); ++i)
            worst = std::max(worst, std::abs(static_cast<double>(got[i]) - expected[i]));
          EXPECT_LT(worst, 1e-2) << c.in << " channels, " << c.kernel << "x" << c.kernel
                                 << ", stride " << c.stride;  // sums of up to 3000 terms of size 4
        }
      },
      true);
}

// Rows of several bands.
TEST(RoundedConvolution, OfStrideTwoHasNoSeams) {
  const StridedRun run({32, 32, 130, 120, 3, 2, {1, 1, 1, 1}});
  const std::vector<float> expected = run.direct();
  const std::vector<float> got = run.rounded(rounded_kernels(rounded_available()));
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-2) << i;
}

}  // namespace
}  // namespace omnirt::cpu
