#include "ops/frames.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

TEST(SwapRows, PutsTheFramesOfATokenBesideEachOther) {
  // Two videos of three frames of four tokens.
  Tensor x = numbers({6, 4, 5});
  Tensor y = computed(ops::SwapRows{x, 3});
  ASSERT_EQ(y.sizes().vec(), (std::vector<int64_t>{8, 3, 5}));
  for (int64_t video = 0; video < 2; ++video) {
    for (int64_t frame = 0; frame < 3; ++frame) {
      for (int64_t token = 0; token < 4; ++token)
        EXPECT_TRUE(at::equal(y[video * 4 + token][frame], x[video * 3 + frame][token]));
    }
  }
}

TEST(SwapRows, IsUndoneByItself) {
  Tensor x = numbers({6, 4, 5});
  Tensor there = ops::SwapRows::reference({x, 3});
  EXPECT_TRUE(at::equal(ops::SwapRows::reference({there, 4}), x));
}

TEST(SwapRows, RefusesRowsThatAreNoWholeBatches) {
  Tensor x = numbers({5, 4, 3});
  EXPECT_THROW((ops::SwapRows::shape({x, 2})), InternalError);
}

TEST(TakeRows, TakesThemInOrderAndAgain) {
  Tensor x = numbers({3, 4, 5});
  const std::vector<int64_t> rows{2, 0, 0};
  Tensor y = computed(ops::TakeRows{x, rows});
  ASSERT_EQ(y.sizes().vec(), (std::vector<int64_t>{3, 4, 5}));
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(at::equal(y[static_cast<int64_t>(i)], x[rows[i]]));
}

TEST(TakeRows, OfARunOfRowsIsAView) {
  Tensor x = numbers({3, 4, 5});
  const std::vector<int64_t> rows{1, 2};
  EXPECT_EQ(computed(ops::TakeRows{x, rows}).data_ptr(), x[1].data_ptr());
}

TEST(TakeRows, RefusesRowsThatAreNotThere) {
  Tensor x = numbers({3, 4, 5});
  const std::vector<int64_t> rows{3};
  EXPECT_FALSE(ops::TakeRows::fits({x, rows}));
  EXPECT_THROW((ops::TakeRows::shape({x, rows})), InternalError);
}

TEST(Blend, TakesTheLearnedShareOfTheFirst) {
  Tensor x = numbers({2, 3, 4}), other = numbers({2, 3, 4}, 2);
  for (float mix : {-30.0f, -1.5f, 0.0f, 0.4f, 30.0f}) {
    double share = 1 / (1 + std::exp(-static_cast<double>(mix)));
    Tensor factor = at::tensor({mix});
    Tensor a = x.to(at::kDouble), b = other.to(at::kDouble);
    expect_close(computed(ops::Blend{x, other, factor}), share * a + (1 - share) * b);
    expect_close(computed(ops::Blend{x, other, factor, true}), (1 - share) * a + share * b);
  }
}

}  // namespace
}  // namespace omnirt::testing
