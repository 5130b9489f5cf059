#include "guiders/settings.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "guiders/guider.hpp"

namespace omnirt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> site_names(const Json& layers) {
  std::vector<std::string> names;
  auto guider = find_guider("pag")->make({{"pag_applied_layers", layers}});
  Condition perturbed = guider->conditions().back();
  for (const SiteRule& rule : perturbed.sites) names.push_back(rule.name);
  return names;
}

TEST(GuiderSettings, TellAllThatIsWrongTogether) {
  try {
    find_guider("pag")->make({{"pag_skale", 1}, {"pag_start", 2}, {"guidance_scale", "much"}});
    FAIL() << "nothing was refused";
  } catch (const InvalidRequest& refused) {
    ASSERT_EQ(refused.findings().size(), 3u);
    EXPECT_THAT(refused.what(), HasSubstr("did you mean 'pag_scale'?"));
    EXPECT_THAT(refused.what(), HasSubstr("guider.pag_start"));
  }
}

TEST(GuiderSettings, RefuseARangeThatEndsBeforeItStarts) {
  EXPECT_THROW(find_guider("cfg")->make({{"start", 0.6}, {"stop", 0.5}}), InvalidRequest);
  EXPECT_THROW(find_guider("interval")->make({{"sigma_min", 3}, {"sigma_max", 2}}), InvalidRequest);
}

TEST(GuiderSettings, TakeLayersAsATextAListOrANumber) {
  EXPECT_THAT(site_names("mid, up.block_1"), ElementsAre("mid", "up.block_1"));
  EXPECT_THAT(site_names(Json::array({"mid", 7})), ElementsAre("mid", "7"));
  EXPECT_THAT(site_names(7), ElementsAre("7"));
  EXPECT_THROW(site_names("mid,,up"), InvalidRequest);
  EXPECT_THROW(site_names(Json::array()), InvalidRequest);
}

TEST(GuiderSettings, OfEveryGuiderAreNamedOnceAndHaveHelp) {
  for (const GuiderInfo& info : all_guiders()) {
    std::set<std::string> names;
    for (const KeyInfo* key : info.keys) {
      EXPECT_TRUE(names.insert(key->name).second) << info.type << "." << key->name;
      EXPECT_STRNE(key->help, "") << info.type << "." << key->name;
    }
    EXPECT_NO_THROW(info.make(Json::object())) << info.type;
  }
}

TEST(GuiderSettings, EveryGuiderAsksForThePlainConditionFirst) {
  for (const GuiderInfo& info : all_guiders()) {
    auto guider = info.make(Json::object());
    EXPECT_EQ(guider->name(), info.type);
    Condition first = guider->conditions().front();
    EXPECT_EQ(first.name, "cond");
    EXPECT_TRUE(first.renames.empty() && first.sites.empty() && first.network.empty());
  }
}

TEST(GuiderSettings, AGuidersMomentumLivesInTheRunAndNotInTheGuider) {
  auto guider = find_guider("apg")->make({{"momentum", 0.5}});
  Predictions predictions{{"cond", at::arange(6, at::kFloat).view({1, 6})},
                          {"uncond", at::ones({1, 6})}};
  auto first_call = [&] {
    GuiderState state;
    GuidanceStep step{.steps = 2, .state = &state};
    Tensor first = guider->combine(predictions, step);
    step.index = 1;
    EXPECT_FALSE(at::equal(guider->combine(predictions, step), first));
    return first;
  };
  EXPECT_TRUE(at::equal(first_call(), first_call()));
}

TEST(GuiderSettings, ZeroAtFirstStaysZeroWhenItIsRescaled) {
  auto guider = find_guider("cfg_zero_star")->make({{"guidance_rescale", 0.7}});
  GuidanceStep step{.steps = 4};
  Tensor combined = guider->combine({{"cond", at::randn({2, 5})}}, step);
  EXPECT_TRUE(at::equal(combined, at::zeros({2, 5})));
}

}  // namespace
}  // namespace omnirt
