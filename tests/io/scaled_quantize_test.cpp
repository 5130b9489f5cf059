#include "io/scaled_quantize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/json.hpp"
#include "io/sharded.hpp"
#include "io/small_float.hpp"
#include "source_paths.hpp"

namespace omnirt::io {
namespace {

template <typename T>
std::vector<T> elements(const TensorFiles& files, const std::string& name) {
  const FoundTensor found = *files.find(name);
  std::vector<T> values(found.data().size() / sizeof(T));
  std::memcpy(values.data(), found.data().data(), found.data().size());
  return values;
}

class Written : public ::testing::TestWithParam<const char*> {
 protected:
  TensorFiles files_ =
      TensorFiles::open_file(source_path("tests/goldens/scaled/written.safetensors"));
  std::string name_ = GetParam();
  std::vector<float> numbers_ = elements<float>(files_, name_ + ".weight");
  int64_t columns_ = files_.find(name_ + ".weight")->entry->shape[1];
};

// To the byte: one division and one rounding a number.
TEST_P(Written, Fp8IsTheReferences) {
  ScaledMatrix made = quantize_scaled(ScaledFormat::fp8, columns_, numbers_);
  EXPECT_EQ(made.dtype, Dtype::f8_e4m3);
  EXPECT_EQ(made.numbers, elements<std::byte>(files_, name_ + ".fp8"));
  EXPECT_EQ(made.scales, elements<float>(files_, name_ + ".fp8_scale"));
  EXPECT_TRUE(made.scale_shape.empty());
}

// A rotation is a sum, whose order is not the reference's: a number may be as far beyond the middle
// of two as fp32 rounds a sum of 256 terms, about 2^-20 of the largest, which is 127.
TEST_P(Written, Int8IsTheNearestOfTheReferencesNumbers) {
  ScaledMatrix made = quantize_scaled(ScaledFormat::int8_convrot, columns_, numbers_);
  auto unrounded = elements<float>(files_, name_ + ".int8_unrounded");
  auto scales = elements<float>(files_, name_ + ".int8_scale");
  EXPECT_EQ(made.scale_shape, (std::vector<int64_t>{6, 1}));
  for (size_t row = 0; row < scales.size(); ++row)
    EXPECT_NEAR(made.scales[row], scales[row], scales[row] * 1e-5) << row;
  ASSERT_EQ(made.numbers.size(), unrounded.size());
  for (size_t i = 0; i < unrounded.size(); ++i)
    EXPECT_NEAR(static_cast<int8_t>(made.numbers[i]), unrounded[i], 0.5 + 1e-3) << i;
}

INSTANTIATE_TEST_SUITE_P(Matrices, Written, ::testing::Values("a", "b", "c"));

TEST(ScaledQuantize, SettingsNameTheGroupThatWasRotated) {
  auto settings = [](int64_t columns) {
    return Json::parse(scaled_settings(ScaledFormat::int8_convrot, columns));
  };
  EXPECT_EQ(settings(512)["convrot_groupsize"], 256);
  EXPECT_EQ(settings(320)["convrot_groupsize"], 64);
  EXPECT_EQ(settings(48)["convrot_groupsize"], 16);
  EXPECT_FALSE(settings(20).contains("convrot"));
  EXPECT_EQ(Json::parse(scaled_settings(ScaledFormat::fp8, 20))["format"], "float8_e4m3fn");
}

TEST(ScaledQuantize, FormatsGoByTheirNames) {
  EXPECT_EQ(find_scaled_format("fp8"), ScaledFormat::fp8);
  EXPECT_EQ(find_scaled_format("int8_convrot"), ScaledFormat::int8_convrot);
  EXPECT_FALSE(find_scaled_format("q8_0"));
}

// Each number of E4M3, each middle of two neighbours (to the even one), and each next to a middle.
TEST(SmallFloat, NarrowsToTheNearestNumberOfE4M3) {
  for (unsigned bits = 0; bits < 0x7F; ++bits) {
    const float value = widen_f8_e4m3(static_cast<uint8_t>(bits));
    EXPECT_EQ(narrow_f8_e4m3(value), bits);
    EXPECT_EQ(narrow_f8_e4m3(-value), bits | 0x80U);
    if (bits == 0x7E) break;
    const float next = widen_f8_e4m3(static_cast<uint8_t>(bits + 1)), middle = (value + next) / 2;
    EXPECT_EQ(narrow_f8_e4m3(middle), bits + bits % 2);
    EXPECT_EQ(narrow_f8_e4m3(std::nextafter(middle, 0.0F)), bits);
    EXPECT_EQ(narrow_f8_e4m3(std::nextafter(middle, 500.0F)), bits + 1);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(narrow_f8_e4m3(449), 0x7E);
  EXPECT_EQ(narrow_f8_e4m3(-infinity), 0xFE);
  EXPECT_EQ(narrow_f8_e4m3(std::numeric_limits<float>::quiet_NaN()) & 0x7FU, 0x7FU);
}

}  // namespace
}  // namespace omnirt::io
