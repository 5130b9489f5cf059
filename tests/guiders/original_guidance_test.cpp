#include "guiders/original_guidance.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

Predictions two_predictions() {
  Tensor x = at::arange(2 * 3 * 4, at::kDouble).view({2, 3, 2, 2});
  return {{"cond", x.sin()}, {"uncond", x.cos()}};
}

TEST(OriginalGuidance, CountsItsScaleFromThePromptsPrediction) {
  GuidanceStep step{.timestep = 999};
  Predictions p = two_predictions();
  Tensor expected = p["cond"] + 0.5 * (p["cond"] - p["uncond"]);
  EXPECT_TRUE(at::allclose(OriginalGuidance({0.5}).combine(p, step), expected));
}

TEST(OriginalGuidance, AsksForOneConditionAtScaleZero) {
  GuidanceStep step{.timestep = 999};
  Predictions p = two_predictions();
  OriginalGuidance guider({0.0});
  EXPECT_EQ(guider.conditions().size(), 1U);
  EXPECT_EQ(guider.active(step).size(), 1U);
  EXPECT_TRUE(at::equal(guider.combine(p, step), p["cond"]));
  EXPECT_EQ(OriginalGuidance({1.0}).conditions().size(), 2U);
}

TEST(OriginalGuidance, LimitsTheLengthOfEachImagesPrediction) {
  GuidanceStep step{.timestep = 999};
  Predictions p = two_predictions();
  p["uncond"][1] = p["cond"][1] * 0.9;  // barely guided, so that it is short enough
  Tensor guided = p["cond"] + 3.0 * (p["cond"] - p["uncond"]);
  Tensor made = OriginalGuidance({3.0, 1.5}).combine(p, step);
  double most = 1.5 * p["cond"][0].norm().item<double>();
  EXPECT_GT(guided[0].norm().item<double>(), most);
  EXPECT_TRUE(at::allclose(made[0], guided[0] * (most / guided[0].norm())));
  EXPECT_TRUE(at::allclose(made[1], guided[1]));
}

TEST(OriginalGuidance, EndsWhereTheRunIsTruncated) {
  OriginalGuidance guider({3.0, 0.0, 0.4});
  EXPECT_EQ(guider.active({.timestep = 1000}).size(), 2U);
  EXPECT_EQ(guider.active({.timestep = 601}).size(), 2U);
  EXPECT_EQ(guider.active({.timestep = 599}).size(), 1U);
  Predictions p = two_predictions();
  GuidanceStep late{.timestep = 100};
  EXPECT_TRUE(at::equal(guider.combine(p, late), p["cond"]));
}

TEST(OriginalGuidance, RefusesSettingsByName) {
  const GuiderInfo* info = find_guider("cfg_original");
  ASSERT_TRUE(info);
  EXPECT_THROW(info->make({{"cfg_truncation", 2}}), InvalidRequest);
  EXPECT_THROW(info->make({{"guidance_rescale", 0.5}}), InvalidRequest);
}

}  // namespace
}  // namespace omnirt
