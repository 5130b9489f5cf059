#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "int8_cases.hpp"
#include "split_ways.hpp"

namespace omnirt::cpu {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// What a sum of products of split numbers may be off by, for terms of these squares' sum: three
// parts of 2^-18 of each term, which add up as a random walk does.
double allowed(double squares) {
  return 2e-5 * std::sqrt(squares) + 1e-6;
}

// The nearest bf16, ties to even.
float rounded(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  std::memcpy(&value, &bits, 4);
  return value;
}

std::vector<uint8_t> stored(const std::vector<float>& values, WeightType type, size_t offset) {
  const size_t size = type == WeightType::f32 ? 4 : 2;
  std::vector<uint8_t> bytes(values.size() * size + offset);
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == WeightType::f32) {
      std::memcpy(bytes.data() + offset + 4 * i, &values[i], 4);
    } else {
      uint32_t bits;
      std::memcpy(&bits, &values[i], 4);
      const auto half = static_cast<uint16_t>(bits >> 16);
      std::memcpy(bytes.data() + offset + 2 * i, &half, 2);
    }
  }
  return bytes;
}

// Numbers that a bf16 holds.
std::vector<float> short_numbers(Numbers& numbers, int64_t count) {
  std::vector<float> values = numbers.take(count);
  for (float& value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    bits &= 0xffff0000;
    std::memcpy(&value, &bits, 4);
  }
  return values;
}

struct GemmCase {
  int64_t m, n, k;
  bool geglu = false;
  Activation activation = Activation::none;
  WeightType type = WeightType::f32;
  bool residual = false, row_bias = false, packed = false;
};

struct GemmRun {
  // `parts`: of each number; of one, the sum is compared with the rounded numbers' own.
  explicit GemmRun(const GemmCase& c, size_t parts = 2) : all(c), is_rounded(parts == 1) {
    Numbers numbers(static_cast<uint32_t>(c.m * 31 + c.n * 7 + c.k));
    const int64_t rows = c.geglu ? 2 * c.n : c.n;
    x = numbers.take(c.m * (c.k + 3) + 1);
    w = c.type == WeightType::f32 ? numbers.take(rows * c.k) : short_numbers(numbers, rows * c.k);
    bias = numbers.take(rows);
    row_bias = numbers.take((c.m / 3 + 1) * c.n);
    residual = numbers.take(c.m * c.n);
    file = stored(w, c.type, 1);
    weight = {file.data() + 1, c.type, rows, c.k, 0};
    if (c.packed) packed = std::make_shared<PackedSplit>(weight, 1, c.geglu, parts);
  }

  std::vector<float> run(const SplitKernels& kernels) const {
    std::vector<float> y(static_cast<size_t>(all.m * (all.n + 1)), -77.0f);
    GemmArgs args{
        .m = all.m,
        .n = all.n,
        .k = all.k,
        .x = x.data() + 1,
        .x_stride = all.k + 3,
        .y = y.data(),
        .y_stride = all.n + 1,
        .epilogue = {.bias = bias.data(), .activation = all.activation, .geglu = all.geglu}};
    if (all.residual)
      args.epilogue.residual = residual.data(), args.epilogue.residual_stride = all.n;
    if (all.row_bias) {
      args.epilogue.row_bias = row_bias.data();
      args.epilogue.row_bias_stride = all.n;
      args.epilogue.rows_per_bias = 3;
    }
    gemm_split(kernels, args, weight, all.packed ? packed.get() : nullptr);
    return y;
  }

  double number(float value) const { return is_rounded ? rounded(value) : value; }

  double sum(int64_t row, int64_t column, double& squares) const {
    double sum = 0;
    squares = 0;
    for (int64_t i = 0; i < all.k; ++i) {
      const double term =
          number(x[size_t(1 + row * (all.k + 3) + i)]) * number(w[size_t(column * all.k + i)]);
      sum += term;
      squares += term * term;
    }
    return sum + bias[size_t(column)];
  }

  void check(const std::vector<float>& y) const {
    for (int64_t r = 0; r < all.m; ++r) {
      for (int64_t c = 0; c < all.n; ++c) {
        double squares, gate_squares = 0;
        double want = sum(r, c, squares), slack = allowed(squares);
        if (all.row_bias) want += row_bias[size_t(r / 3 * all.n + c)];
        if (all.residual) want += residual[size_t(r * all.n + c)];
        if (all.geglu) {
          const double gate = sum(r, all.n + c, gate_squares);
          slack = slack * (1 + std::abs(gate)) + allowed(gate_squares) * 2 * (1 + std::abs(want));
          want *= activate(Activation::gelu, gate);
        } else {
          want = activate(all.activation, want);
        }
        ASSERT_NEAR(y[size_t(r * (all.n + 1) + c)], want, 2 * slack) << "row " << r << " of " << c;
      }
      ASSERT_EQ(y[size_t(r * (all.n + 1) + all.n)], -77.0f) << "wrote past row " << r;
    }
  }

  GemmCase all;
  bool is_rounded = false;
  std::vector<float> x, w, bias, row_bias, residual;
  std::vector<uint8_t> file;
  WeightView weight;
  std::shared_ptr<const PackedSplit> packed;
};

const GemmCase gemm_cases[] = {
    {1, 1, 1},
    {3, 5, 7},
    {16, 32, 32},
    {17, 33, 31, false, Activation::silu},
    {33, 64, 64, false, Activation::none, WeightType::bf16},
    {40, 70, 100, false, Activation::gelu, WeightType::f32, true},
    {70, 31, 65, false, Activation::quick_gelu, WeightType::f32, false, true},
    {50, 96, 800, false, Activation::gelu_tanh, WeightType::f32, true, true},
    {45, 40, 50, true},
    {64, 33, 450, true, Activation::none, WeightType::bf16},
    {20, 80, 390, false, Activation::relu, WeightType::f32, false, false, true},
    {20, 80, 390, false, Activation::leaky_relu, WeightType::f32, false, false, true},
    {20, 35, 401, true, Activation::none, WeightType::bf16, false, false, true},
};

void check_cases(const SplitKernels& kernels) {
  for (const GemmCase& c : gemm_cases) {
    SCOPED_TRACE(testing::Message() << c.m << " x " << c.n << " x " << c.k);
    const GemmRun run(c, kernels.parts);
    run.check(run.run(kernels));
  }
}

TEST(SplitProduct, IsTheProductToSixteenBits) {
  for_each_way(check_cases);
}

TEST(RoundedProduct, IsTheRoundedNumbersProduct) {
  for_each_way(check_cases, true);
}

TEST(SplitProduct, ManyRowsGoByBandsWithPanelsPackedOnce) {
  const GemmRun run({1600, 40, 40});
  for_each_way([&](const SplitKernels& kernels) { run.check(run.run(kernels)); });
}

void check_bits(const SplitKernels& kernels, WeightType type) {
  const GemmRun many({1700, 65, 800, false, Activation::none, type}, kernels.parts);
  GemmRun part = many;
  part.all.m = 100;
  const int threads = team_size();
  const std::vector<float> all = many.run(kernels);
  set_team_size(1);
  EXPECT_EQ(many.run(kernels), all);
  set_team_size(3);
  const std::vector<float> first = part.run(kernels);
  set_team_size(threads);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
  const GemmRun packed({100, 65, 800, false, Activation::none, type, false, false, true},
                       kernels.parts);
  GemmRun unpacked = packed;
  unpacked.all.packed = false;
  EXPECT_EQ(unpacked.run(kernels), packed.run(kernels));
}

TEST(SplitProduct, BitsDependOnNeitherThreadsNorRowsNorPacking) {
  check_bits(split_kernels(split_available()), WeightType::f32);
}

TEST(RoundedProduct, BitsDependOnNeitherThreadsNorRowsNorPacking) {
  check_bits(rounded_kernels(rounded_available()), WeightType::f32);
  check_bits(rounded_kernels(rounded_available()), WeightType::bf16);
}

void check_reach(const SplitKernels& kernels) {
  GemmRun run({40, 40, 64}, kernels.parts);
  run.x[1 + 5 * 67 + 3] = nan;
  run.x[1 + 9 * 67 + 40] = inf;
  const std::vector<float> y = run.run(kernels);
  for (int64_t r = 0; r < 40; ++r)
    for (int64_t c = 0; c < 40; ++c)
      EXPECT_EQ(std::isfinite(y[size_t(r * 41 + c)]), r != 5 && r != 9) << r << " " << c;
}

TEST(SplitProduct, NanAndInfinityReachTheirRowsAndNoOther) {
  for_each_way(check_reach);
}

TEST(RoundedProduct, NanAndInfinityReachTheirRowsAndNoOther) {
  for_each_way(check_reach, true);
}

TEST(SplitProduct, LargeAndSmallNumbersKeepTheirPlaces) {
  for_each_way([&](const SplitKernels& kernels) {
    GemmRun run({32, 32, 32});
    for (float& value : run.x) value *= 1e18f;
    for (size_t i = 0; i < run.w.size(); ++i) run.w[i] *= 1e-18f;
    run.file = stored(run.w, WeightType::f32, 1);
    run.weight.data = run.file.data() + 1;
    run.check(run.run(kernels));
  });
}

struct ConvCase {
  int64_t batch, in, out, height, width, kernel = 3;
  int64_t up_height = 0, up_width = 0;
  Activation read = Activation::none, activation = Activation::none;
  bool scaled = false, residual = false, sample_bias = false, packed = false;
};

struct ConvRun {
  explicit ConvRun(const ConvCase& c) : all(c) {
    Numbers numbers(static_cast<uint32_t>(c.in * 131 + c.height * 17 + c.width));
    shape.batch = c.batch;
    shape.in_channels = c.in;
    shape.out_channels = c.out;
    shape.in_height = c.height;
    shape.in_width = c.width;
    shape.up_height = c.up_height;
    shape.up_width = c.up_width;
    shape.left = shape.right = shape.top = shape.bottom = c.kernel / 2;
    x = numbers.take(1 + c.batch * in_strides().batch);
    w = numbers.take(c.out * c.in * c.kernel * c.kernel);
    bias = numbers.take(c.out);
    sample_bias = numbers.take(c.batch * c.out);
    residual = numbers.take(1 + c.batch * out_strides().batch);
    scale = numbers.take(c.batch * c.in);
    shift = numbers.take(c.batch * c.in);
    if (c.packed)
      packed = std::make_shared<PackedSplit>(
          WeightView{w.data(), WeightType::f32, c.out, c.in * c.kernel * c.kernel, 0},
          c.kernel * c.kernel, false);
  }
  int64_t height() const { return shape.conv_height(); }
  int64_t width() const { return shape.conv_width(); }
  ConvStrides in_strides() const {
    const int64_t pixel = all.in + 2, row = all.width * pixel + 1;
    return {all.height * row + 3, row, pixel};
  }
  ConvStrides out_strides() const {
    const int64_t pixel = all.out + 1, row = width() * pixel + 2;
    return {height() * row + 1, row, pixel};
  }

  std::vector<float> run(const SplitKernels& kernels) const {
    std::vector<float> y(static_cast<size_t>(1 + all.batch * out_strides().batch), -77.0f);
    SplitConv conv;
    conv.shape = shape;
    conv.kernel = all.kernel;
    conv.x.data = x.data() + 1;
    conv.x.strides = in_strides();
    if (all.scaled) {
      conv.x.scale = scale.data();
      conv.x.shift = shift.data();
      conv.x.scale_stride = all.in;
      conv.x.activation = all.read;
    }
    conv.weights = {w.data(), WeightType::f32};
    conv.packed = all.packed ? packed.get() : nullptr;
    conv.epilogue.bias = bias.data();
    conv.epilogue.activation = all.activation;
    if (all.sample_bias)
      conv.epilogue.sample_bias = sample_bias.data(), conv.epilogue.sample_bias_stride = all.out;
    if (all.residual)
      conv.epilogue.residual = residual.data() + 1, conv.epilogue.residual_strides = out_strides();
    conv.y = y.data() + 1;
    conv.y_strides = out_strides();
    conv_split(kernels, conv);
    return y;
  }

  static size_t at(const ConvStrides& strides, int64_t b, int64_t r, int64_t c, int64_t channel) {
    return static_cast<size_t>(1 + b * strides.batch + r * strides.row + c * strides.pixel +
                               channel);
  }

  // A number of the upsampled, normalised, padded input.
  double input(int64_t b, int64_t r, int64_t c, int64_t channel) const {
    if (r < 0 || c < 0 || r >= height() || c >= width()) return 0;
    const int64_t row = r * all.height / height(), column = c * all.width / width();
    double value = x[at(in_strides(), b, row, column, channel)];
    if (!all.scaled) return value;
    const auto place = static_cast<size_t>(b * all.in + channel);
    return activate(all.read, value * scale[place] + shift[place]);
  }

  double expected(int64_t b, int64_t r, int64_t c, int64_t o, double& squares) const {
    const int64_t taps = all.kernel * all.kernel, around = all.kernel / 2;
    double sum = bias[size_t(o)];
    squares = 0;
    for (int64_t i = 0; i < all.in; ++i) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const double term =
            input(b, r + tap / all.kernel - around, c + tap % all.kernel - around, i) *
            w[size_t((o * all.in + i) * taps + tap)];
        sum += term;
        squares += term * term;
      }
    }
    if (all.sample_bias) sum += sample_bias[size_t(b * all.out + o)];
    if (all.residual) sum += residual[at(out_strides(), b, r, c, o)];
    return activate(all.activation, sum);
  }

  void check(const std::vector<float>& y) const {
    std::vector<bool> written(y.size());
    for (int64_t b = 0; b < all.batch; ++b) {
      for (int64_t r = 0; r < height(); ++r) {
        for (int64_t c = 0; c < width(); ++c) {
          for (int64_t o = 0; o < all.out; ++o) {
            double squares;
            const double want = expected(b, r, c, o, squares);
            const size_t place = at(out_strides(), b, r, c, o);
            written[place] = true;
            ASSERT_NEAR(y[place], want, 2 * allowed(squares))
                << b << " " << r << " " << c << " " << o;
          }
        }
      }
    }
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_TRUE(written[i] || y[i] == -77.0f) << "wrote beside the picture, at " << i;
  }

  ConvCase all;
  WinogradShape shape;
  std::vector<float> x, w, bias, sample_bias, residual, scale, shift;
  std::shared_ptr<const PackedSplit> packed;
};

TEST(SplitConvolution, IsTheConvolutionToSixteenBits) {
  const Activation none = Activation::none, silu = Activation::silu;
  const ConvCase cases[] = {
      {1, 1, 1, 1, 1},
      {2, 3, 5, 4, 3},
      {1, 40, 33, 7, 9},
      {3, 33, 64, 5, 1, 3, 0, 0, none, silu, false, true},
      {2, 70, 20, 6, 5, 3, 0, 0, silu, none, true, true, true},
      {2, 64, 32, 4, 4, 3, 0, 0, none, none, true},
      {2, 16, 40, 4, 3, 3, 8, 6},
      {1, 16, 40, 4, 3, 3, 7, 5, silu, none, true},
      {2, 65, 34, 3, 7, 1, 0, 0, silu, silu, true, true, true},
      {2, 8, 34, 3, 3, 1, 6, 6},
      {2, 100, 70, 5, 6, 3, 0, 0, silu, none, true, true, true, true},
  };
  for_each_way([&](const SplitKernels& kernels) {
    for (const ConvCase& c : cases) {
      SCOPED_TRACE(testing::Message()
                   << c.in << " -> " << c.out << " at " << c.height << " x " << c.width);
      const ConvRun run(c);
      run.check(run.run(kernels));
    }
  });
}

TEST(SplitConvolution, AnImageOfManyBandsHasNoSeams) {
  const ConvRun run({1, 20, 8, 90, 60, 3, 0, 0, Activation::silu, Activation::none, true});
  const SplitKernels kernels = split_kernels(split_available());
  run.check(run.run(kernels));
}

TEST(SplitConvolution, ASampleHasItsOwnBits) {
  const ConvRun both({2, 70, 40, 9, 11, 3, 0, 0, Activation::silu, Activation::none, true});
  ConvRun one = both;
  one.shape.batch = 1;
  one.all.batch = 1;
  const SplitKernels kernels = split_kernels(split_available());
  const std::vector<float> all = both.run(kernels), alone = one.run(kernels);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end() - 1, all.begin()));
}

TEST(SplitConvolution, ANanReachesTheWindowsThatHoldItAndNoOther) {
  for_each_way([&](const SplitKernels& kernels) {
    ConvRun run({2, 32, 8, 6, 7});
    run.x[ConvRun::at(run.in_strides(), 0, 5, 6, 3)] = nan;
    const std::vector<float> y = run.run(kernels);
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t r = 0; r < 6; ++r)
        for (int64_t c = 0; c < 7; ++c)
          EXPECT_EQ(std::isnan(y[ConvRun::at(run.out_strides(), b, r, c, 2)]),
                    b == 0 && r >= 4 && c >= 5)
              << b << " " << r << " " << c;
  });
}

}  // namespace
}  // namespace omnirt::cpu
