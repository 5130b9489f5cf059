#include "ops/causal_conv3d.hpp"

#include <ATen/ops/cat.h>
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "ops/conv2d.hpp"
#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

constexpr std::array<int64_t, 4> around{1, 1, 1, 1};

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(CausalConv3d, OfImagesIsAConvolutionByTheLastFrameOfTheFilter) {
  Tensor x = numbers({2, 3, 6, 5}), weight = numbers({4, 3, 3, 3, 3}, 2);
  Tensor last = weight.select(2, 2).contiguous();
  Tensor y = computed(ops::CausalConv3d{.x = x, .weight = weight, .zeros = 2, .padding = around});
  EXPECT_LT(
      largest_difference(y, ops::Conv2d::reference({.x = x, .weight = last, .padding = around})),
      1e-5);
}

TEST(CausalConv3d, ReadsNoLaterFrame) {
  Tensor x = numbers({4, 3, 6, 5}), weight = numbers({4, 3, 3, 3, 3}, 2);
  auto made = [&](const Tensor& frames) {
    return ops::CausalConv3d::reference(
        {.x = frames, .weight = weight, .frames = frames.size(0), .zeros = 2, .padding = around});
  };
  Tensor whole = made(x), first = made(x.narrow(0, 0, 2));
  EXPECT_LT(largest_difference(whole.narrow(0, 0, 2), first), 1e-5);
}

TEST(CausalConv3d, GoesOnFromThePastOfEachVideo) {
  // Two videos of four frames, of which the last two come later.
  Tensor x = numbers({8, 3, 6, 5}), weight = numbers({4, 3, 3, 3, 3}, 2);
  auto frames_of = [](const Tensor& of, int64_t first, int64_t count) {
    return of.unflatten(0, {2, 4}).narrow(1, first, count).flatten(0, 1);
  };
  Tensor whole = ops::CausalConv3d::reference(
      {.x = x, .weight = weight, .frames = 4, .zeros = 2, .padding = around});
  Tensor past = frames_of(x, 0, 2), later = frames_of(x, 2, 2);
  Tensor made = computed(ops::CausalConv3d{
      .x = later, .weight = weight, .frames = 2, .past = &past, .padding = around});
  EXPECT_LT(largest_difference(made, frames_of(whole, 2, 2)), 1e-5);
}

TEST(CausalConv3d, MakesAsManyFramesAsItsStrideLeaves) {
  Tensor x = numbers({4, 3, 6, 5}), past = numbers({1, 3, 6, 5}), weight = numbers({3, 3, 3, 1, 1});
  const ops::CausalConv3d args{
      .x = x, .weight = weight, .frames = 4, .past = &past, .time_stride = 2};
  EXPECT_TRUE(ops::CausalConv3d::fits(args));
  EXPECT_EQ(ops::CausalConv3d::shape(args), (ops::Shape{2, 3, 6, 5}));
}

TEST(CausalConv3d, FitsNeitherTooFewFramesNorAnotherSize) {
  Tensor x = numbers({2, 3, 6, 5}), weight = numbers({4, 3, 3, 3, 3}), wide = numbers({1, 3, 6, 9});
  EXPECT_FALSE(ops::CausalConv3d::fits({.x = x, .weight = weight, .frames = 2}));
  EXPECT_THROW((ops::CausalConv3d::shape({.x = x, .weight = weight, .frames = 2})), InternalError);
  EXPECT_FALSE(ops::CausalConv3d::fits({.x = x, .weight = weight, .frames = 2, .zeros = 3}));
  EXPECT_FALSE(
      ops::CausalConv3d::fits({.x = x, .weight = weight, .frames = 2, .zeros = 1, .past = &wide}));
  EXPECT_FALSE(ops::CausalConv3d::fits({.x = x, .weight = weight, .frames = 3, .zeros = 2}));
}

TEST(LastFrames, AreThoseOfThePastWhereTheChunkHasTooFew) {
  Tensor x = numbers({1, 4, 3, 2}), past = numbers({2, 4, 3, 2}, 2);
  EXPECT_TRUE(computed(ops::LastFrames{x, &past, 2}).equal(at::cat({past.narrow(0, 1, 1), x})));
  EXPECT_TRUE(computed(ops::LastFrames{x, nullptr, 2}).equal(x));
}

TEST(LastFrames, AreNoViewOfTheChunk) {
  Tensor x = numbers({3, 4, 3, 2});
  Tensor last = computed(ops::LastFrames{.x = x, .count = 2});
  EXPECT_TRUE(last.equal(x.narrow(0, 1, 2)));
  EXPECT_NE(last.data_ptr(), x[1].data_ptr());
}

}  // namespace
}  // namespace omnirt::testing
