#include "io/dtype.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace omnirt::io {
namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

std::optional<size_t> bytes_of(Dtype dtype, std::initializer_list<int64_t> shape) {
  return tensor_bytes(dtype, {shape.begin(), shape.size()});
}

TEST(Dtype, IsReadAndPrintedByTheFormatsName) {
  for (std::string_view name :
       {"F64",     "F32",     "F16",         "BF16",    "I64",     "I32",        "I16", "I8",
        "U64",     "U32",     "U16",         "U8",      "C64",     "BOOL",       "F4",  "F6_E2M3",
        "F6_E3M2", "F8_E4M3", "F8_E5M2FNUZ", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ"}) {
    std::optional<Dtype> dtype = parse_dtype(name);
    ASSERT_TRUE(dtype) << name;
    EXPECT_EQ(dtype_name(*dtype), name);
  }
}

TEST(Dtype, IsReadAndPrintedByTheNameOfRequests) {
  constexpr auto pairs =
      std::to_array<std::pair<std::string_view, Dtype>>({{"fp32", Dtype::f32},
                                                         {"fp16", Dtype::f16},
                                                         {"bf16", Dtype::bf16},
                                                         {"int8", Dtype::i8},
                                                         {"fp8", Dtype::f8_e4m3}});
  for (const auto& [name, dtype] : pairs) {
    EXPECT_EQ(parse_common_dtype(name), dtype);
    EXPECT_EQ(common_dtype_name(dtype), name);
  }
}

TEST(Dtype, IsNoneForAnUnknownName) {
  EXPECT_EQ(parse_dtype("f32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(parse_common_dtype("F32"), std::nullopt);
}

TEST(Dtype, HasItsSizeInBits) {
  EXPECT_EQ(dtype_bits(Dtype::f4), 4U);
  EXPECT_EQ(dtype_bits(Dtype::boolean), 8U);
  EXPECT_EQ(dtype_bits(Dtype::bf16), 16U);
  EXPECT_EQ(dtype_bits(Dtype::c64), 64U);
}

TEST(TensorBytes, IsOneElementForAScalar) {
  EXPECT_EQ(bytes_of(Dtype::f32, {}), 4U);
}

TEST(TensorBytes, IsTheProductOfTheShape) {
  EXPECT_EQ(bytes_of(Dtype::f16, {3, 5}), 30U);
}

TEST(TensorBytes, IsZeroForAnEmptyTensor) {
  EXPECT_EQ(bytes_of(Dtype::f32, {3, 0, 5}), 0U);
}

TEST(TensorBytes, IsNoneForANegativeSize) {
  EXPECT_EQ(bytes_of(Dtype::f32, {-1}), std::nullopt);
  EXPECT_EQ(bytes_of(Dtype::f32, {0, -1}), std::nullopt);
}

TEST(TensorBytes, IsNoneWhenElementsOverflow) {
  EXPECT_EQ(bytes_of(Dtype::u8, {int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
  EXPECT_EQ(bytes_of(Dtype::u8, {largest, largest}), std::nullopt);
}

TEST(TensorBytes, IsNoneWhenBytesOverflow) {
  EXPECT_EQ(bytes_of(Dtype::f64, {largest}), std::nullopt);
}

TEST(TensorBytes, IsNoneWhenAZeroHidesAnOverflow) {
  EXPECT_EQ(bytes_of(Dtype::u8, {0, int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
}

TEST(TensorBytes, IsNoneWhenPackedElementsEndInsideAByte) {
  EXPECT_EQ(bytes_of(Dtype::f4, {3}), std::nullopt);
  EXPECT_EQ(bytes_of(Dtype::f4, {4}), 2U);
  EXPECT_EQ(bytes_of(Dtype::f6_e3m2, {4}), 3U);
}

}  // namespace
}  // namespace omnirt::io
