#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "int8_cases.hpp"

namespace omnirt::cpu {
namespace {

using testing::HasSubstr;

std::string what_of(const std::vector<float>& w, int64_t rows, int64_t columns) {
  try {
    pack_int8({w.data(), WeightType::f32, rows, columns}, false, "unet.conv_in.weight");
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Int8Pack, RefusesWeightsWithNanOrInfinityNamingTensorAndChannel) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> w(50 * 70, 0.5f);
    w[41 * 70 + 69] = bad;
    EXPECT_THAT(what_of(w, 50, 70), HasSubstr("unet.conv_in.weight"));
    EXPECT_THAT(what_of(w, 50, 70), HasSubstr("output channel 41 of 50"));
  }
}

TEST(Int8Pack, RefusesRowsWhoseSumsCouldLeave32Bits) {
  const std::vector<float> w(int8_most_inner + 1);
  EXPECT_THROW(pack_int8({w.data(), WeightType::f32, 1, int8_most_inner + 1}), Unsupported);
}

TEST(Int8Pack, TakesAboutAByteAWeightAndSaysSoBeforehand) {
  const std::vector<float> w(320 * 1280, 1.0f);
  const PackedInt8 packed = pack_int8({w.data(), WeightType::f32, 320, 1280});
  EXPECT_EQ(packed.bytes(), packed_int8_bytes(320, 1280));
  EXPECT_EQ(packed.bytes(), 320u * 1280u + 320u * 8u);
}

TEST(Int8Pack, GivesEveryTargetTheSameForm) {
  const std::vector<float> w = Numbers(3).take(45 * 100);
  const PackedInt8 first = pack_int8({w.data(), WeightType::f32, 45, 100});
  for_each_int8_target([&](const Int8Kernels&, const std::string& target) {
    const PackedInt8 packed = pack_int8({w.data(), WeightType::f32, 45, 100});
    const Int8View a(first), b(packed);
    ASSERT_EQ(std::memcmp(a.data, b.data, static_cast<size_t>(a.panels) * a.panel_bytes()), 0)
        << target;
  });
}

uint32_t float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
// Of numbers that the type holds exactly, zero or normal.
uint16_t f16_bits(float value) {
  if (value == 0) return 0;
  const uint32_t bits = float_bits(value);
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112u << 10)));
}
uint16_t bf16_bits(float value) {
  return static_cast<uint16_t>(float_bits(value) >> 16);
}

TEST(Int8Pack, ReadsHalfWidthTypesFromAnyByteAndWithARowStride) {
  constexpr int64_t rows = 37, columns = 70, stride = 75;
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    // Whole numbers up to 127, exact in both types; the largest makes the scale 1.
    std::vector<float> values(rows * stride, 0.0f);
    std::vector<char> bytes(1 + values.size() * 2);
    for (int64_t i = 0; i < rows * stride; ++i) {
      const int number = i % stride == 5 ? 127 : static_cast<int>(i * 37 % 255) - 127;
      values[static_cast<size_t>(i)] = static_cast<float>(number);
      const uint16_t bits = type == WeightType::f16 ? f16_bits(values[static_cast<size_t>(i)])
                                                    : bf16_bits(values[static_cast<size_t>(i)]);
      std::memcpy(bytes.data() + 1 + i * 2, &bits, 2);
    }
    for_each_int8_target([&](const Int8Kernels&, const std::string& target) {
      const PackedInt8 a = pack_int8({values.data(), WeightType::f32, rows, columns, stride});
      const PackedInt8 b = pack_int8({bytes.data() + 1, type, rows, columns, stride});
      const Int8View va(a), vb(b);
      ASSERT_EQ(std::memcmp(va.data, vb.data, static_cast<size_t>(va.panels) * va.panel_bytes()), 0)
          << target;
      for (int64_t n = 0; n < rows; ++n) {
        EXPECT_EQ(va.scales[n], vb.scales[n]) << target;
        EXPECT_EQ(va.sums[n], vb.sums[n]) << target;
      }
    });
  }
}

TEST(Int8Pack, KeepsAChannelOfZerosAtZero) {
  const std::vector<float> w(2 * 64), x(64, 3.0f), bias{1.5f, -2.5f};
  const PackedInt8 packed = pack_int8({w.data(), WeightType::f32, 2, 64});
  std::vector<float> y(2);
  GemmArgs args{1, 2, 64, x.data(), 64, y.data(), 2, {}};
  args.epilogue.bias = bias.data();
  int8_linear(args, packed);
  EXPECT_EQ(y, bias);
}

}  // namespace
}  // namespace omnirt::cpu
