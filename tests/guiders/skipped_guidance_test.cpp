#include "guiders/skipped_guidance.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "guiders/guider.hpp"

namespace omnirt {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

std::unique_ptr<Guider> skipping(Json config) {
  return find_guider("cfg_skip_layers")->make(config);
}

TEST(SkippedGuidance, LeadsAwayFromThePredictionWithoutTheLayers) {
  Tensor x = at::arange(24, at::kDouble).view({2, 3, 2, 2});
  Predictions p{{"cond", x.sin()}, {"uncond", x.cos()}, {"perturbed", x.sin() * 0.7}};
  GuidanceStep step{.index = 1, .steps = 10};
  auto guider = skipping({{"guidance_scale", 4.0}, {"skip_guidance_layers", {7, 8}}});
  Tensor expected =
      p["uncond"] + 4.0 * (p["cond"] - p["uncond"]) + 2.8 * (p["cond"] - p["perturbed"]);
  EXPECT_TRUE(at::allclose(guider->combine(p, step), expected));
  const Condition perturbed = guider->conditions().back();
  ASSERT_EQ(perturbed.sites.size(), 2U);
  EXPECT_EQ(perturbed.sites[1].name, "8");
  EXPECT_EQ(perturbed.sites[1].kind, SiteKind::block);
}

// Reference: i > n * start and i < n * stop, in numbers that are not rounded.
TEST(SkippedGuidance, HoldsBetweenFractionsOfTheRun) {
  auto guider = skipping({{"guidance_scale", 4.0},
                          {"skip_guidance_layers", {1}},
                          {"skip_layer_guidance_start", 0.15},
                          {"skip_layer_guidance_stop", 0.45}});
  std::vector<size_t> held;
  for (size_t i = 0; i < 10; ++i) {
    auto names = guider->active({.index = i, .steps = 10});
    EXPECT_THAT(names, Contains("uncond"));
    if (std::ranges::count(names, "perturbed") > 0) held.push_back(i);
  }
  EXPECT_THAT(held, ElementsAre(2U, 3U, 4U));
}

TEST(SkippedGuidance, IsPlainGuidanceWithoutLayersAndNothingWithoutGuidance) {
  GuidanceStep step{.index = 1, .steps = 10};
  auto plain = skipping({{"guidance_scale", 4.0}});
  EXPECT_THAT(plain->active(step), ElementsAre("cond", "uncond"));
  auto none = skipping({{"guidance_scale", 1.0}, {"skip_guidance_layers", {1}}});
  EXPECT_THAT(none->active(step), ElementsAre("cond"));
  EXPECT_EQ(none->conditions().size(), 1U);
}

TEST(SkippedGuidance, RefusesARangeThatEndsBeforeItStarts) {
  EXPECT_THROW(skipping({{"skip_layer_guidance_start", 0.5}}), InvalidRequest);
}

}  // namespace
}  // namespace omnirt
