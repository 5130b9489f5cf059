#include "guiders/classifier_free_guidance.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

Predictions predictions() {
  auto options = at::TensorOptions().dtype(at::kDouble);
  Tensor cond = at::arange(12, options).view({2, 2, 3}).sin();
  Tensor uncond = at::arange(12, options).view({2, 2, 3}).cos();
  return {{"cond", cond}, {"uncond", uncond}};
}

TEST(Guidance, IsUncondPlusScaleTimesTheDifference) {
  GuidanceStep step;
  Predictions p = predictions();
  Tensor expected = p["uncond"] + 3.0 * (p["cond"] - p["uncond"]);
  EXPECT_TRUE(at::allclose(ClassifierFreeGuidance({3.0, 0.0}).combine(p, step), expected));
}

TEST(Guidance, AsksForOneConditionAtAScaleOfOneOrLess) {
  GuidanceStep step;
  for (double scale : {0.0, 0.5, 1.0}) {
    ClassifierFreeGuidance guider({scale, 0.0});
    EXPECT_EQ(guider.conditions().size(), 1u);
    EXPECT_EQ(guider.active(step).size(), 1u);
    EXPECT_TRUE(at::equal(guider.combine(predictions(), step), predictions()["cond"]));
  }
}

TEST(Guidance, FullRescaleGivesEachImageTheSpreadOfCond) {
  GuidanceStep step;
  Tensor combined = ClassifierFreeGuidance({7.0, 1.0}).combine(predictions(), step);
  Tensor cond = predictions()["cond"];
  for (int64_t i = 0; i < 2; ++i)
    EXPECT_NEAR(combined[i].std().item<double>(), cond[i].std().item<double>(), 1e-12);
}

TEST(Guidance, RefusesSettingsByName) {
  const GuiderInfo* cfg = find_guider("cfg");
  ASSERT_TRUE(cfg);
  EXPECT_THROW(cfg->make({{"guidance_scale", -1}}), InvalidRequest);
  EXPECT_THROW(cfg->make({{"guidance_rescale", 1.5}}), InvalidRequest);
  EXPECT_THROW(cfg->make({{"scale", 3}}), InvalidRequest);
  EXPECT_THROW(find_guider("none")->make({{"guidance_scale", 3}}), InvalidRequest);
}

}  // namespace
}  // namespace omnirt
