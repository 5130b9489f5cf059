#include "guiders/row_guidance.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

Predictions predictions_of_rows() {
  Tensor x = at::arange(2 * 3 * 4, at::kDouble).view({2, 3, 2, 2});
  return {{"cond", x.sin()}, {"uncond", x.cos()}};
}

TEST(RowGuidance, MakesEachRowAsLongAsThePromptsPrediction) {
  GuidanceStep step{.steps = 4};
  Predictions p = predictions_of_rows();
  Tensor guided = p["uncond"] + 4.0 * (p["cond"] - p["uncond"]);
  EXPECT_TRUE(at::allclose(RowGuidance({4.0, 0.0}).combine(p, step), guided));
  Tensor made = RowGuidance({4.0, 1.0}).combine(p, step);
  EXPECT_TRUE(at::allclose(made.norm(2, {-1}), p["cond"].norm(2, {-1})));
  EXPECT_TRUE(at::allclose(made / made.norm(2, {-1}, true), guided / guided.norm(2, {-1}, true)));
}

TEST(RowGuidance, AsksForOneConditionUpToScaleOne) {
  GuidanceStep step{.steps = 4};
  Predictions p = predictions_of_rows();
  RowGuidance guider({1.0});
  EXPECT_EQ(guider.conditions().size(), 1U);
  EXPECT_EQ(guider.active(step).size(), 1U);
  EXPECT_TRUE(at::equal(guider.combine(p, step), p["cond"]));
}

// As the reference counts: a call i of n is guided where (i + 1) / n is not above the ratio.
TEST(RowGuidance, EndsWhereTheRunIsTruncated) {
  RowGuidance guider({4.0, 1.0, 0.5});
  EXPECT_EQ(guider.active({.index = 0, .steps = 5}).size(), 2U);
  EXPECT_EQ(guider.active({.index = 1, .steps = 5}).size(), 2U);
  EXPECT_EQ(guider.active({.index = 2, .steps = 5}).size(), 1U);
  EXPECT_EQ(guider.active({.index = 1, .steps = 4}).size(), 2U);
}

TEST(RowGuidance, RefusesSettingsByName) {
  const GuiderInfo* info = find_guider("cfg_rows");
  ASSERT_TRUE(info);
  EXPECT_THROW(info->make({{"cfg_trunc_ratio", 2}}), InvalidRequest);
  EXPECT_THROW(info->make({{"guidance_rescale", 0.5}}), InvalidRequest);
}

}  // namespace
}  // namespace omnirt
