// What is reported about requests to PixArt before any weight is read, and what they keep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

GenerateRequest request(const Json& config = Json::object(), const std::string& prompt = "apple") {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/pixart_sigma/model").string();
  made.inputs["prompt"] = prompt;
  made.config = config;
  return made;
}

std::vector<std::string> fields(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& finding : findings) names.push_back(finding.field);
  return names;
}

TEST(PixArt, TakesAnySizeWithBinningAndWholePatchesWithout) {
  Json odd = {{"width", 101}, {"height", 57}};
  EXPECT_THAT(fields(engine().check(request(odd), {}).errors), ::testing::IsEmpty());
  odd["use_resolution_binning"] = false;
  EXPECT_THAT(fields(engine().check(request(odd), {}).errors),
              ::testing::ElementsAre("config.width", "config.height"));
}

TEST(PixArt, HasTheDefaultsOfItsPipelines) {
  Proposal sigma = engine().check(request(), {});
  EXPECT_EQ(sigma.spec->id, "pixart-sigma");
  EXPECT_EQ(sigma.config.find("max_sequence_length")->value, 300);
  EXPECT_EQ(sigma.config.find("guidance_scale")->value, 4.5);
  EXPECT_EQ(sigma.config.find("width")->value, 256);
  GenerateRequest other = request();
  other.model = source_path("tests/goldens/pipelines/pixart_alpha/model").string();
  Proposal alpha = engine().check(other, {});
  EXPECT_EQ(alpha.spec->id, "pixart-alpha");
  EXPECT_EQ(alpha.config.find("max_sequence_length")->value, 120);
}

TEST(PixArt, TellsWhatIsCutOffAPrompt) {
  Proposal proposal =
      engine().check(request({{"max_sequence_length", 3}}, "of the people and"), {});
  ASSERT_EQ(fields(proposal.warnings), std::vector<std::string>{"inputs.prompt"});
  EXPECT_EQ(proposal.warnings[0].value, "people and");
}

TEST(PixArt, RefusesToCleanCaptionsAndCachesThatItHasNoPlaceFor) {
  Proposal proposal = engine().check(request({{"clean_caption", true}}), {});
  EXPECT_THAT(fields(proposal.errors), ::testing::Contains("config.clean_caption"));
  proposal = engine().check(request({{"cache", "deep"}}), {});
  EXPECT_THAT(fields(proposal.errors), ::testing::Contains("config.cache"));
}

TEST(PixArt, RefusesATextEncoderOfAnotherWidth) {
  GenerateRequest other = request();
  other.components["text_encoder"] =
      source_path("tests/data/configs/pixart-sigma/text_encoder").string();
  EXPECT_THAT(fields(engine().check(other, {}).errors),
              ::testing::Contains("text_encoder.d_model"));
}

// The masks of a prompt and the negative one are alike: a batch of all rows and one of the
// perturbed ones hold the same in other rows.
TEST(PixArt, PerturbsSeveralPromptsAsEachAlone) {
  GenerateRequest several = folder_request(source_path("tests/goldens/pipelines/pixart_sigma/pag"));
  several.inputs["prompt"] = Json::array({"a red apple", "the sea"});
  const Tensor together = run(several).image;
  several.config["max_batch_rows"] = 1;
  EXPECT_GT(psnr(run(several).image, together, 1.0), 60);
}

}  // namespace
}  // namespace omnirt::testing
