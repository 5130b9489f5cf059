// What is reported about requests to Chroma before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

std::string chroma_input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

GenerateRequest chroma_request(const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/chroma/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal chroma_proposal(const GenerateRequest& request) {
  return engine().check(request, {});
}

TEST(Chroma, FoldersHaveTheDefaultsOfTheirTasks) {
  Proposal text = chroma_proposal(chroma_request());
  EXPECT_THAT(text.errors, IsEmpty());
  EXPECT_EQ(text.spec->id, "chroma1-hd");
  EXPECT_EQ(text.config.find("num_inference_steps")->value, 35);
  EXPECT_EQ(text.config.find("guidance_scale")->value, 5.0);
  GenerateRequest request = chroma_request();
  request.inputs["image"] = chroma_input("image.png");
  EXPECT_EQ(chroma_proposal(request).config.find("strength")->value, 0.9);
  request.inputs["mask"] = chroma_input("mask.png");
  Proposal inpaint = chroma_proposal(request);
  EXPECT_THAT(inpaint.errors, IsEmpty());
  EXPECT_EQ(inpaint.task, "inpaint");
  EXPECT_EQ(inpaint.config.find("guidance_scale")->value, 7.0);
  EXPECT_EQ(inpaint.config.find("max_sequence_length")->value, 256);
}

TEST(Chroma, GuidesWithoutANegativePromptAsWell) {
  EXPECT_EQ(chroma_proposal(chroma_request()).guider->conditions().size(), 2U);
  Proposal alone = chroma_proposal(chroma_request({{"guidance_scale", 1.0}}));
  EXPECT_EQ(alone.guider->conditions().size(), 1U);
}

TEST(Chroma, GoesByTheNameThatOthersUse) {
  const ModelSpec* entry = engine().catalogue().find_entry("chroma", "inpaint");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->id, "chroma1-hd");
}

TEST(Chroma, RefusesWhatItDoesNotHave) {
  auto errors = [](const Json& config) { return chroma_proposal(chroma_request(config)).errors; };
  EXPECT_THAT(errors({{"max_sequence_length", 513}}), about("config.max_sequence_length"));
  EXPECT_THAT(errors({{"scheduler", "ddim"}}), about("config.scheduler", "cannot be given"));
  EXPECT_THAT(errors({{"width", 100}, {"height", 64}}), about("config.width", "multiple of 8"));
  GenerateRequest request = chroma_request();
  request.components["controlnet"] = source_path("tests/goldens/networks/flux_controlnet").string();
  EXPECT_THAT(chroma_proposal(request).errors, about("components.controlnet"));
}

TEST(Chroma, RefusesATransformerOfOtherLatents) {
  GenerateRequest request = chroma_request();
  request.components["transformer"] =
      source_path("tests/goldens/networks/chroma_transformer_rare_options").string();
  EXPECT_THAT(chroma_proposal(request).errors, about("transformer.in_channels", "16 channels"));
}

}  // namespace
}  // namespace omnirt::testing
