#include "blocks/entities.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace omnirt::blocks {
namespace {

// A mask whose left `columns` of 8 are white.
Tensor left(int64_t columns) {
  Tensor mask = at::zeros({8, 8});
  mask.narrow(1, 0, columns).fill_(1);
  return mask;
}

TEST(EntityWeights, ATokenInsideOfOneMaskTakesAllFromItsEntityAndOneOutsideNothing) {
  Tensor weights = entity_token_weights(at::stack({left(4)}), 2, 2);
  Tensor top = weights.narrow(2, 0, 4);  // {1, 2, 4}: the text, then the entity
  EXPECT_TRUE(top[0][1].equal(at::tensor({1.0F, 0.0F, 1.0F, 0.0F})));
  EXPECT_TRUE(top[0][0].equal(at::tensor({0.0F, 1.0F, 0.0F, 1.0F})));
}

TEST(EntityWeights, MasksThatMeetShareTheirTokensEqually) {
  Tensor weights = entity_token_weights(at::stack({left(8), left(4)}), 1, 2);
  Tensor top = weights.narrow(2, 0, 2);
  EXPECT_TRUE(top[0][0].equal(at::tensor({0.0F, 0.0F})));
  EXPECT_TRUE(top[0][1].equal(at::tensor({0.5F, 1.0F})));
  EXPECT_TRUE(top[0][2].equal(at::tensor({0.5F, 0.0F})));
}

TEST(EntityWeights, HoldEveryGridFromTheLatentsDownToOneToken) {
  // 3x5, 2x3, 1x2, 1x1.
  EXPECT_EQ(entity_token_weights(at::stack({left(8)}), 3, 5).size(2), 15 + 6 + 2 + 1);
}

TEST(EntityWeights, WeightsOfEachTokenAreOne) {
  Tensor weights = entity_token_weights(at::stack({left(5), left(2), left(7)}), 4, 4);
  EXPECT_TRUE(at::allclose(weights.sum(1), at::ones({1, weights.size(2)})));
}

}  // namespace
}  // namespace omnirt::blocks
