#include <gtest/gtest.h>

#include "families/pixart/captions.hpp"
#include "families/pixart/sizes.hpp"

namespace omnirt::pixart {
namespace {

// Against diffusers' classify_height_width_bin over the same tables.
TEST(ResolutionBins, AreTheReferencesChoices) {
  struct Case {
    int64_t sample_size;
    Size wanted, made;
  };
  const std::vector<Case> cases{
      {32, {64, 48}, {288, 224}},        {32, {256, 256}, {256, 256}},
      {32, {8, 8192}, {128, 512}},       {64, {512, 768}, {416, 608}},
      {64, {1000, 8}, {1024, 256}},      {128, {1024, 1024}, {1024, 1024}},
      {128, {1080, 1920}, {768, 1344}},  {128, {1920, 1080}, {1344, 768}},
      {128, {97, 100}, {960, 1024}},     {256, {2048, 2048}, {2048, 2048}},
      {256, {1440, 3440}, {1280, 3072}}, {256, {37, 10}, {3840, 1024}},
      {256, {8192, 8}, {4096, 1024}},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(binned(each.wanted, bins_of(each.sample_size)), each.made)
        << each.sample_size << ": " << each.wanted.height << "x" << each.wanted.width;
  }
  EXPECT_TRUE(bins_of(8).empty());
}

TEST(Captions, AreLowerCaseWithoutWhiteSpaceAtTheirEnds) {
  EXPECT_EQ(as_caption(" \t\u00A0A Small  CACTUS\u2028\x1F\n"), "a small  cactus");
  EXPECT_EQ(as_caption("\u0130\u00C9"), "i\u0307\u00E9");
  EXPECT_EQ(as_caption(" "), "");
}

}  // namespace
}  // namespace omnirt::pixart
