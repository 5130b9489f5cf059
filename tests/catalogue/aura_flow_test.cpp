// What is reported about requests to AuraFlow before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest aura_flow_request(const Json& config) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/aura_flow/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal checked_aura_flow(const Json& config) {
  return engine().check(aura_flow_request(config), {});
}

TEST(AuraFlow, IsKnownByItsFolderAndByTheNameThatOthersUse) {
  Proposal made = checked_aura_flow({{"width", 64}, {"height", 64}});
  EXPECT_THAT(made.errors, IsEmpty());
  EXPECT_EQ(made.spec->id, "aura-flow");
  EXPECT_EQ(made.config.find("num_inference_steps")->value, 50);
  EXPECT_EQ(made.config.find("guidance_scale")->value, 3.5);
  EXPECT_EQ(made.config.find("max_sequence_length")->value, 256);
  const ModelSpec* entry = engine().catalogue().find_entry("auraflow", "text2image");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->id, "aura-flow");
}

TEST(AuraFlow, TakesSizesOfWholeTokensThatItHasPositionsFor) {
  EXPECT_THAT(checked_aura_flow({{"width", 40}, {"height", 64}}).errors,
              about("config.width", "multiple of 16"));
  EXPECT_THAT(checked_aura_flow({{"width", 64}, {"height", 1040}}).errors,
              about("config.height", "positions for 1024 pixels"));
  Proposal usual = checked_aura_flow({{"width", 64}});
  EXPECT_THAT(usual.errors, IsEmpty());
  EXPECT_EQ(usual.config.find("height")->value, 1024);
}

TEST(AuraFlow, RefusesWhatItDoesNotHave) {
  const Json size = {{"width", 64}, {"height", 64}};
  auto with = [&](const char* key, const Json& value) {
    Json config = size;
    config[key] = value;
    return checked_aura_flow(config).errors;
  };
  EXPECT_THAT(with("cache", "deep"), about("config.cache"));
}

}  // namespace
}  // namespace omnirt::testing
