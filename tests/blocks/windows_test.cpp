#include "blocks/windows.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace omnirt::blocks {
namespace {
using ::testing::ElementsAre;

TEST(Windows, AnImageNoLargerThanAWindowIsOneWindow) {
  EXPECT_THAT(windows_over(8, 6, 8, 2, false), ElementsAre(Window{0, 8, 0, 6}));
  EXPECT_THAT(windows_over(8, 8, 8, 2, true), ElementsAre(Window{0, 8, 0, 8}));
}

TEST(Windows, TheLastWindowEndsWithTheImageSoThatNothingIsLeftUncovered) {
  EXPECT_THAT(windows_over(4, 11, 4, 3, false),
              ElementsAre(Window{0, 4, 0, 4}, Window{0, 4, 3, 7}, Window{0, 4, 6, 10},
                          Window{0, 4, 7, 11}));
}

TEST(Windows, CircularOnesGoOnAtTheLeftEdge) {
  EXPECT_THAT(windows_over(4, 8, 4, 4, true), ElementsAre(Window{0, 4, 0, 4}, Window{0, 4, 4, 8}));
  EXPECT_EQ(windows_over(4, 8, 4, 2, true).back(), (Window{0, 4, 6, 10}));
  Tensor row = at::arange(8, at::kFloat).view({1, 1, 1, 8});
  Tensor seen = window_of(row, {0, 1, 6, 10}).flatten();
  EXPECT_TRUE(seen.equal(at::tensor({6.0F, 7.0F, 0.0F, 1.0F})));
}

}  // namespace
}  // namespace omnirt::blocks
