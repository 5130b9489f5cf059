#include "guiders/frame_guidance.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

Predictions predictions(at::IntArrayRef shape) {
  Tensor x = at::arange(c10::multiply_integers(shape), at::kDouble).view(shape);
  return {{"cond", x.sin()}, {"uncond", x.cos()}};
}

TEST(FrameGuidance, GrowsEvenlyFromTheFirstFrameToTheLast) {
  GuidanceStep step;
  Predictions p = predictions({2, 3, 4, 2, 2});
  Tensor combined = FrameGuidance({1.0, 3.0}).combine(p, step);
  for (int64_t frame = 0; frame < 3; ++frame) {
    double scale = 1.0 + static_cast<double>(frame);
    Tensor cond = p["cond"].select(1, frame), uncond = p["uncond"].select(1, frame);
    EXPECT_TRUE(at::allclose(combined.select(1, frame), uncond + scale * (cond - uncond)));
  }
}

TEST(FrameGuidance, AsksForOneConditionWhereNoFrameIsGuided) {
  GuidanceStep step;
  Predictions p = predictions({1, 2, 4, 2, 2});
  FrameGuidance guider({1.0, 1.0});
  EXPECT_EQ(guider.conditions().size(), 1u);
  EXPECT_EQ(guider.active(step).size(), 1u);
  EXPECT_TRUE(at::equal(guider.combine(p, step), p["cond"]));
  EXPECT_EQ(FrameGuidance({2.0, 1.0}).conditions().size(), 2u);
}

TEST(FrameGuidance, GivesImagesTheLastFramesScale) {
  GuidanceStep step;
  Predictions p = predictions({2, 4, 2, 2});
  Tensor expected = p["uncond"] + 3.0 * (p["cond"] - p["uncond"]);
  EXPECT_TRUE(at::allclose(FrameGuidance({1.0, 3.0}).combine(p, step), expected));
}

TEST(FrameGuidance, RefusesSettingsByName) {
  const GuiderInfo* info = find_guider("frame_cfg");
  ASSERT_TRUE(info);
  EXPECT_THROW(info->make({{"max_guidance_scale", 1000}}), InvalidRequest);
  EXPECT_THROW(info->make({{"guidance_scale", 3}}), InvalidRequest);
}

}  // namespace
}  // namespace omnirt
