#include <gtest/gtest.h>

#include "blocks/captions.hpp"
#include "blocks/resolution_bins.hpp"

namespace omnirt::blocks {
namespace {

// Against diffusers' classify_height_width_bin over the same tables.
TEST(ResolutionBins, AreTheReferencesChoices) {
  struct Case {
    int64_t pixels;
    PixelSize wanted, made;
  };
  const std::vector<Case> cases{
      {256, {64, 48}, {288, 224}},        {256, {256, 256}, {256, 256}},
      {256, {8, 8192}, {128, 512}},       {512, {512, 768}, {416, 608}},
      {512, {1000, 8}, {1024, 256}},      {1024, {1024, 1024}, {1024, 1024}},
      {1024, {1080, 1920}, {768, 1344}},  {1024, {1920, 1080}, {1344, 768}},
      {1024, {97, 100}, {960, 1024}},     {2048, {2048, 2048}, {2048, 2048}},
      {2048, {1440, 3440}, {1280, 3072}}, {2048, {37, 10}, {3840, 1024}},
      {2048, {8192, 8}, {4096, 1024}},    {4096, {4096, 4096}, {4096, 4096}},
      {4096, {1440, 3440}, {2560, 6144}}, {4096, {37, 10}, {7680, 2048}},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(binned(each.wanted, resolution_bins(each.pixels)), each.made)
        << each.pixels << ": " << each.wanted.height << "x" << each.wanted.width;
  }
  EXPECT_TRUE(resolution_bins(64).empty());
}

TEST(Captions, AreLowerCaseWithoutWhiteSpaceAtTheirEnds) {
  EXPECT_EQ(as_caption(" \t\u00A0A Small  CACTUS\u2028\x1F\n"), "a small  cactus");
  EXPECT_EQ(as_caption("\u0130\u00C9"), "i\u0307\u00E9");
  EXPECT_EQ(as_caption(" "), "");
}

}  // namespace
}  // namespace omnirt::blocks
