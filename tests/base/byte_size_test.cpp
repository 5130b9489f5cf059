#include "base/byte_size.hpp"

#include <gtest/gtest.h>

namespace omnirt {
namespace {

TEST(ByteSize, ReadsUnitsOfBothKinds) {
  EXPECT_EQ(parse_byte_size("6GB"), 6'000'000'000U);
  EXPECT_EQ(parse_byte_size("1.5 GiB"), 3U << 29);
  EXPECT_EQ(parse_byte_size("800mb"), 800'000'000U);
  EXPECT_EQ(parse_byte_size("64KiB"), 65536U);
  EXPECT_EQ(parse_byte_size("4096"), 4096U);
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GB", "six GB", "6 apples", "-1GB", "nan", "inf", "1e40GB", "6GBx"})
    EXPECT_FALSE(parse_byte_size(text)) << text;
}

TEST(ByteSize, IsShownRoundedUp) {
  EXPECT_EQ(shown_byte_size(1'231'000'000), "1.24 GB");
  EXPECT_EQ(shown_byte_size(103'329'588), "104 MB");
}

}  // namespace
}  // namespace omnirt
