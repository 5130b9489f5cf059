#include "blocks/tiles.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace omnirt::blocks {
namespace {

TEST(Tiles, AreOneWhereTheImageIsNoLarger) {
  for (int64_t length : {1, 63, 64}) {
    auto tiles = axis_tiles(length, 64, 16, 2);
    ASSERT_EQ(tiles.size(), 1U);
    EXPECT_EQ(tiles[0].begin, 0);
    EXPECT_EQ(tiles[0].shares, std::vector<float>(static_cast<size_t>(2 * length), 1.0F));
  }
}

TEST(Tiles, OverlapAndEndWithTheImage) {
  auto tiles = axis_tiles(100, 40, 10, 1);
  std::vector<int64_t> begins;
  for (const AxisTile& tile : tiles) {
    begins.push_back(tile.begin);
    EXPECT_EQ(tile.shares.size(), 40U);
  }
  EXPECT_EQ(begins, (std::vector<int64_t>{0, 30, 60}));
  EXPECT_EQ(axis_tiles(101, 40, 10, 1).back().begin, 61);
}

TEST(Tiles, FadeAlongALineWhereTheyOverlap) {
  auto tiles = axis_tiles(7, 5, 2, 1);  // 0..4 and 2..6: three in common, a ramp of two
  ASSERT_EQ(tiles.size(), 2U);
  const std::vector<float> first{1, 1, 0.75F, 0.5F, 0.25F}, second{0.25F, 0.5F, 0.75F, 1, 1};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_FLOAT_EQ(tiles[0].shares[i], first[i]) << i;
    EXPECT_FLOAT_EQ(tiles[1].shares[i], second[i]) << i;
  }
}

TEST(Tiles, HaveSharesThatAddUpToOneEverywhere) {
  for (int64_t length : {65, 100, 127, 128, 129, 500}) {
    for (int64_t scale : {1, 4}) {
      std::vector<double> sums(static_cast<size_t>(length * scale), 0.0);
      for (const AxisTile& tile : axis_tiles(length, 64, 12, scale)) {
        for (size_t i = 0; i < tile.shares.size(); ++i)
          sums[static_cast<size_t>(tile.begin * scale) + i] += tile.shares[i];
      }
      for (double sum : sums) EXPECT_NEAR(sum, 1.0, 1e-6);
    }
  }
}

}  // namespace
}  // namespace omnirt::blocks
