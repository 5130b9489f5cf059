// Findings about requests to Qwen-Image before any weight is read, and how it reads prompts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest qwen_request(const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/qwen_image/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

std::string qwen_input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

TEST(QwenImage, IsMadeAtTheSizeOfItsTrainingWithGuidance) {
  Proposal proposal = engine().check(qwen_request(), {});
  EXPECT_THAT(proposal.errors, IsEmpty());
  EXPECT_EQ(proposal.spec->id, "qwen-image");
  EXPECT_EQ(proposal.config.find("width")->value, 1328);
  EXPECT_EQ(proposal.config.find("height")->value, 1328);
  EXPECT_EQ(proposal.config.find("num_inference_steps")->value, 30);
  EXPECT_EQ(proposal.config.find("guidance_scale")->value, 4.0);
}

TEST(QwenImage, GoesByTheNamesThatOthersUse) {
  const ModelSpec* entry = engine().catalogue().find_entry("qwen_image", "text2image");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->id, "qwen-image");
}

// As the reference: not at the image's size.
TEST(QwenImage, ChangesImagesAtTheReferencesSize) {
  GenerateRequest image2image = qwen_request();
  image2image.inputs["image"] = qwen_input("image_88x72.png");
  Proposal proposal = engine().check(image2image, {});
  EXPECT_THAT(proposal.errors, IsEmpty());
  EXPECT_EQ(proposal.task, "image2image");
  EXPECT_EQ(proposal.config.find("width")->value, 1024);
  EXPECT_EQ(proposal.config.find("strength")->value, 0.6);
}

TEST(QwenImage, RefusesByNameWhatItDoesNotDo) {
  auto errors = [](const Json& config) { return engine().check(qwen_request(config), {}).errors; };
  EXPECT_THAT(errors({{"width", 40}}), about("config.width", "multiple of 16"));
  EXPECT_THAT(errors({{"max_sequence_length", 1025}}),
              about("config.max_sequence_length", "1024 tokens"));
  EXPECT_THAT(errors({{"cache", "deep"}}), about("config.cache", "no place"));
  EXPECT_THAT(errors({{"scheduler", "ddim"}}), about("config.scheduler", "cannot be given"));
  GenerateRequest none = qwen_request({{"strength", 0.0}});
  none.inputs["image"] = qwen_input("image.png");
  EXPECT_THAT(engine().check(none, {}).errors, about("config.strength", "none of the 30 steps"));
}

TEST(QwenImage, QuotesWhatOfAPromptIsCut) {
  GenerateRequest request = qwen_request({{"max_sequence_length", 5}});
  request.inputs["prompt"] = "a small red apple and the sea at night";
  EXPECT_THAT(engine().check(request, {}).warnings, about("inputs.prompt", "5 tokens"));
}

TEST(QwenImage, RefusesPartsOfOtherModels) {
  GenerateRequest request = qwen_request();
  request.components["vae"] = source_path("tests/goldens/pipelines/flux2_klein/model/vae").string();
  EXPECT_THAT(engine().check(request, {}).errors, about("transformer.in_channels", "autoencoder"));
}

}  // namespace
}  // namespace omnirt::testing
