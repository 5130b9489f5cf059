#include "tensor/generator.hpp"

#include <gtest/gtest.h>

namespace omnirt {
namespace {

const std::vector<uint64_t> two{3, 4};

TEST(Noise, ContinuesFromAState) {
  Noise noise(two);
  noise.randn({2, 5});
  Noise continued = Noise::from_state(noise.state());
  EXPECT_EQ(continued.size(), 2U);
  EXPECT_TRUE(continued.randn({2, 3, 7}).equal(noise.randn({2, 3, 7})));
  EXPECT_TRUE(continued.state().equal(noise.state()));
}

TEST(Noise, CopiesDrawTheSameAndLeaveTheOriginalWhereItIs) {
  Noise noise(two);
  const Tensor before = noise.state();
  Tensor drawn = noise.copy().randn({2, 16});
  EXPECT_TRUE(noise.state().equal(before));
  EXPECT_TRUE(noise.randn({2, 16}).equal(drawn));
}

TEST(Noise, OfABatchIsWhatEachImageWouldDrawAlone) {
  Tensor both = Noise(two).randn({2, 16});
  EXPECT_TRUE(both.narrow(0, 1, 1).equal(Noise(std::vector<uint64_t>{4}).randn({1, 16})));
}

}  // namespace
}  // namespace omnirt
