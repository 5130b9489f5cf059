// Products over weights as files encode them: to the bit those over the widened numbers.
#include <gtest/gtest.h>

#include "backends/cpu/simd/int8_cases.hpp"
// After the line above, which says what to build for.
#include "backends/cpu/simd/conv_direct.hpp"
#include "backends/cpu/simd/each_target.hpp"
#include "backends/cpu/simd/encoded_case.hpp"
#include "backends/cpu/simd/int8.hpp"
#include "backends/cpu/simd/split_ways.hpp"
#include "backends/cpu/simd/winograd_problem.hpp"

namespace omnirt::cpu {
namespace {

struct EncodedProduct {
  int64_t m, n, k;
  bool geglu = false;
  int64_t rows() const { return geglu ? 2 * n : n; }
};

// The elements are multiples of 256: of rows shorter than a block, of rows that blocks reach
// across, of more rows and columns than a panel and a block of the inner index hold; one row, a
// tile's, more.
const EncodedProduct encoded_products[] = {
    {1, 64, 36},   {3, 40, 320},  {1, 20, 1280},      {14, 256, 7},    {33, 96, 296},
    {77, 70, 512}, {5, 33, 2304}, {9, 64, 100, true}, {130, 64, 1000},
};

EncodedNumbers numbers_for(const EncodedCase& c, int64_t rows, int64_t columns) {
  return {c, static_cast<size_t>(rows * columns), static_cast<uint32_t>(rows + columns)};
}

class Operands {
 public:
  explicit Operands(const EncodedProduct& p) : product(p) {
    Numbers drawn(5);
    x = drawn.take(p.m * p.k);
    bias = drawn.take(p.rows());
    y.assign(static_cast<size_t>(p.m * p.n), -1.0f);
  }
  GemmArgs args() {
    GemmArgs args{product.m, product.n, product.k, x.data(), product.k, y.data(), product.n, {}};
    args.epilogue.bias = bias.data();
    args.epilogue.geglu = product.geglu;
    return args;
  }
  WeightView widened(const EncodedNumbers& w) const {
    return {w.numbers.data(), WeightType::f32, product.rows(), product.k, 0};
  }
  WeightView encoded(const EncodedElements& elements) const {
    return {nullptr, WeightType::encoded, product.rows(), product.k, 0, &elements};
  }

  EncodedProduct product;
  std::vector<float> x, bias, y;
};

// Calls body(args, view) with both, and holds the results against each other.
template <class Body>
void expect_same_products(const EncodedCase& c, const EncodedProduct& product, const Body& body) {
  SCOPED_TRACE(testing::Message() << c.name << ", " << product.m << " x " << product.n << " x "
                                  << product.k);
  const EncodedNumbers weights = numbers_for(c, product.rows(), product.k);
  const EncodedElements elements = weights.elements();
  Operands expected(product), made(product);
  body(expected.args(), expected.widened(weights));
  body(made.args(), made.encoded(elements));
  EXPECT_TRUE(same_bits(made.y, expected.y));
}

TEST(Encoded, ElementsAreWidenedToTheBitWhereverAReadBegins) {
  each_target([] {
    for (const EncodedCase& c : encoded_cases()) {
      SCOPED_TRACE(c.name);
      const EncodedNumbers all(c, 2048);
      const EncodedElements elements = all.elements();
      for (auto [from, count] : {std::pair<size_t, size_t>{0, 2048},
                                 {0, 1},
                                 {255, 2},
                                 {256, 256},
                                 {31, 1000},
                                 {1790, 258},
                                 {2047, 1}}) {
        std::vector<float> to(count + 2 * elements.unit());
        const float* read = elements.read(from, count, to.data());
        ASSERT_GE(read, to.data());
        ASSERT_LE(read + count, to.data() + to.size());
        EXPECT_EQ(std::memcmp(read, all.numbers.data() + from, count * sizeof(float)), 0) << from;
      }
    }
  });
}

TEST(Encoded, Fp8HasEveryNumber) {
  each_target([] {
    std::vector<std::byte> bytes(256);
    for (size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::byte>(i);
    for (io::Dtype dtype : {io::Dtype::f8_e4m3, io::Dtype::f8_e5m2}) {
      std::vector<float> to(258);
      const float* read = EncodedElements(dtype, bytes.data()).read(0, 256, to.data());
      for (size_t i = 0; i < 256; ++i) {
        const auto bits = static_cast<uint8_t>(i);
        const float wanted =
            dtype == io::Dtype::f8_e4m3 ? io::widen_f8_e4m3(bits) : io::widen_f8_e5m2(bits);
        EXPECT_EQ(std::bit_cast<uint32_t>(read[i]), std::bit_cast<uint32_t>(wanted)) << i;
      }
    }
  });
}

TEST(Encoded, ProductsHaveTheBitsOfTheWidenedNumbers) {
  each_target([] {
    for (const EncodedCase& c : encoded_cases())
      for (const EncodedProduct& product : encoded_products)
        expect_same_products(
            c, product, [](const GemmArgs& args, const WeightView& view) { gemm(args, view); });
  });
}

TEST(Encoded, PackedFormsHaveTheBitsOfTheWidenedNumbers) {
  each_target([] {
    for (const EncodedCase& c : encoded_cases())
      for (const EncodedProduct& product : encoded_products)
        expect_same_products(c, product, [](const GemmArgs& args, const WeightView& view) {
          gemm(args, pack(view, args.epilogue.geglu));
        });
  });
}

TEST(Encoded, SplitAndRoundedProductsHaveTheBitsOfTheWidenedNumbers) {
  for (bool rounded : {false, true}) {
    for_each_way(
        [](const SplitKernels& kernels) {
          for (const EncodedCase& c : encoded_cases())
            for (const EncodedProduct& product : encoded_products)
              expect_same_products(c, product, [&](const GemmArgs& args, const WeightView& view) {
                gemm_split(kernels, args, view, nullptr);
              });
        },
        rounded);
  }
}

TEST(Encoded, Int8ProductsHaveTheBitsOfTheWidenedNumbers) {
  for (const EncodedCase& c : encoded_cases())
    for (const EncodedProduct& product : encoded_products)
      expect_same_products(c, product, [](const GemmArgs& args, const WeightView& view) {
        int8_linear(args, pack_int8(view, args.epilogue.geglu));
      });
}

// ----------------------------------------------------------------------------- convolutions

TEST(Encoded, DirectConvolutionsHaveTheBitsOfTheWidenedNumbers) {
  each_target([] {
    for (auto [out, in, kernel] : {std::array<int64_t, 3>{64, 20, 3}, {256, 3, 3}, {32, 72, 1}}) {
      const DirectConvShape shape{.batch = 2,
                                  .in_channels = in,
                                  .out_channels = out,
                                  .in_height = 7,
                                  .in_width = 5,
                                  .kernel_height = kernel,
                                  .kernel_width = kernel,
                                  .stride = 2};
      for (const EncodedCase& c : encoded_cases()) {
        SCOPED_TRACE(testing::Message() << c.name << ", " << in << " -> " << out);
        const EncodedNumbers weights = numbers_for(c, out, in * kernel * kernel);
        const EncodedElements elements = weights.elements();
        const std::vector<float> x = Numbers(3).take(2 * 7 * 5 * in);
        auto made = [&](const ConvWeights& filters, bool packed) {
          std::vector<float> y(
              static_cast<size_t>(2 * shape.out_height() * shape.out_width() * out));
          const DirectConvArgs args{
              .shape = shape, .x = x.data(), .x_pixel = in, .y = y.data(), .y_pixel = out};
          packed ? conv_direct(args, pack_conv(shape, filters)) : conv_direct(args, filters);
          return y;
        };
        const std::vector<float> expected = made({weights.numbers.data(), WeightType::f32}, false);
        const ConvWeights encoded{nullptr, WeightType::encoded, &elements};
        EXPECT_TRUE(same_bits(made(encoded, false), expected));
        EXPECT_TRUE(same_bits(made(encoded, true), expected));
      }
    }
  });
}

TEST(Encoded, WinogradConvolutionsHaveTheBitsOfTheWidenedNumbers) {
  each_target([] {
    for (auto [out, in] : {std::pair<int64_t, int64_t>{64, 20}, {32, 136}, {256, 3}}) {
      const WinogradShape shape{
          .batch = 1, .in_channels = in, .out_channels = out, .in_height = 9, .in_width = 10};
      for (const EncodedCase& c : encoded_cases()) {
        SCOPED_TRACE(testing::Message() << c.name << ", " << in << " -> " << out);
        const EncodedNumbers weights = numbers_for(c, out, in * 9);
        const EncodedElements elements = weights.elements();
        for (ConvChoice form : {ConvChoice::winograd2, ConvChoice::winograd4}) {
          Problem expected(shape), made(shape);
          winograd_conv(form, shape, expected.input(), {weights.numbers.data(), WeightType::f32},
                        expected.epilogue, expected.y.data(), expected.y.strides);
          winograd_conv(form, shape, made.input(), {nullptr, WeightType::encoded, &elements},
                        made.epilogue, made.y.data(), made.y.strides);
          EXPECT_TRUE(same_bits(made.y.memory, expected.y.memory));
        }
      }
    }
  });
}

}  // namespace
}  // namespace omnirt::cpu
