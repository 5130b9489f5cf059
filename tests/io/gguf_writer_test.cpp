#include "io/gguf_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "io/ggml_quantize.hpp"
#include "io/safetensors.hpp"
#include "io/small_float.hpp"
#include "io/temp_folder.hpp"
#include "source_paths.hpp"

namespace omnirt::io {
namespace {

using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::HasSubstr;

std::filesystem::path gguf_golden(const char* name) {
  return source_path("tests/goldens/gguf") / name;
}

std::vector<float> golden_numbers(const SafetensorsFile& file) {
  auto bytes = file.data(*file.find("numbers"));
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

TEST(GgmlQuantize, MakesTheBytesThatTheReferenceMakes) {
  auto golden = SafetensorsFile::open(gguf_golden("quantized.safetensors"));
  std::vector<float> numbers = golden_numbers(*golden);
  for (const char* name : {"Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "BF16"}) {
    std::vector<std::byte> made = quantize(*find_ggml_type(name), numbers);
    EXPECT_TRUE(std::ranges::equal(made, golden->data(*golden->find(name)))) << name;
  }
}

TEST(GgmlQuantize, MakesTheBlocksOf256ThatTheReferenceMakes) {
  auto golden = SafetensorsFile::open(gguf_golden("quantized_k.safetensors"));
  std::vector<float> numbers = golden_numbers(*golden);
  for (const char* name : {"Q4_K", "Q5_K"}) {
    std::vector<std::byte> made = quantize(*find_ggml_type(name), numbers);
    EXPECT_TRUE(std::ranges::equal(made, golden->data(*golden->find(name)))) << name;
  }
}

TEST(GgmlQuantize, NumbersThatAreNoneMakeBlocksAllTheSame) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  for (const std::string& name : written_ggml_types()) {
    std::vector<float> numbers(512, 1.0F);
    numbers[3] = nan, numbers[40] = inf, numbers[300] = -inf;
    const GgmlType& type = *find_ggml_type(name);
    EXPECT_EQ(quantize(type, numbers).size(), 512 / type.block * type.bytes) << name;
  }
}

TEST(GgmlQuantize, TypesThatOnlyAreReadCannotBeWritten) {
  EXPECT_TRUE(can_quantize(*find_ggml_type("q4_0")));
  EXPECT_TRUE(can_quantize(*find_ggml_type("q4_k")));
  EXPECT_FALSE(can_quantize(*find_ggml_type("q6_k")));
  EXPECT_FALSE(can_quantize(*find_ggml_type("iq2_xs")));
}

TEST(SmallFloat, EveryNumberOf16BitsComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    if (std::isnan(widen_f16(half))) {
      EXPECT_TRUE(std::isnan(widen_f16(narrow_f16(widen_f16(half)))));
      continue;
    }
    ASSERT_EQ(narrow_f16(widen_f16(half)), half);
  }
}

TEST(SmallFloat, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(narrow_f16(65519.99F), 0x7BFF);
  EXPECT_EQ(narrow_f16(65520.0F), 0x7C00);
  EXPECT_EQ(narrow_f16(std::ldexp(1.0F, -25)), 0);           // half of the least number
  EXPECT_EQ(narrow_f16(std::ldexp(3.0F, -25)), 2);           // between the first and the second
  EXPECT_EQ(narrow_f16(1 + std::ldexp(1.0F, -11)), 0x3C00);  // between 1 and the next
  EXPECT_EQ(narrow_f16(1 + std::ldexp(3.0F, -11)), 0x3C02);
  EXPECT_EQ(narrow_f16(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(widen_f8_e4m3(0x7E), 448);
  EXPECT_EQ(widen_f8_e5m2(0x7B), 57344);
  EXPECT_EQ(widen_f8_e4m3(1), std::ldexp(1.0F, -9));
  EXPECT_EQ(widen_f4_e2m1(7), 6);
}

TEST(GgufWriter, WritesTheFileThatTheReferenceWrites) {
  auto golden = SafetensorsFile::open(gguf_golden("quantized.safetensors"));
  std::vector<float> numbers = golden_numbers(*golden);
  auto tensor = [&](const char* name, const char* type, std::vector<int64_t> shape,
                    std::vector<int64_t> original = {}) {
    const GgmlType* found = find_ggml_type(type);
    auto count = static_cast<size_t>(*tensor_bytes(Dtype::u8, shape));
    auto produce = [&numbers, found, count](const GgufTensor::Emit& emit) {
      emit(quantize(*found, std::span(numbers).first(count)));
    };
    return GgufTensor{name, found, std::move(shape), produce, std::move(original)};
  };
  std::vector<GgufTensor> tensors{tensor("a.weight", "Q8_0", {8, 256}),
                                  tensor("a.bias", "F32", {5}),
                                  tensor("b.weight", "Q4_0", {8, 256}),
                                  tensor("filter.weight", "Q5_1", {8, 256}, {64, 8, 2, 2}),
                                  tensor("half.weight", "F16", {8, 256})};
  TempFolder temp;
  stream_gguf(temp / "made.gguf", tensors,
              {{"general.architecture", "sdxl"}, {"a.text", "größer"}});
  EXPECT_EQ(read_file(temp / "made.gguf", 1 << 20),
            read_file(gguf_golden("written.gguf"), 1 << 20));
  EXPECT_EQ(temp.names(), std::vector<std::string>{"made.gguf"});
}

TEST(GgufWriter, RefusesOneNameForTwoTensors) {
  auto nothing = [](const GgufTensor::Emit& emit) { emit({}); };
  std::vector<GgufTensor> tensors(2, {"a", find_ggml_type("F32"), {0}, nothing});
  TempFolder temp;
  EXPECT_THAT(message_of<InvalidRequest>([&] { stream_gguf(temp / "a.gguf", tensors, {}); }),
              HasSubstr("two tensors have the name 'a'"));
  EXPECT_TRUE(temp.names().empty());
}

}  // namespace
}  // namespace omnirt::io
