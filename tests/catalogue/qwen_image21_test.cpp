// What is reported about requests to Qwen-Image 2.1 before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest qwen21_request(const Json& config = Json::object(),
                               const char* model = "qwen_image_21") {
  GenerateRequest made;
  made.model = source_path(std::string("tests/goldens/pipelines/") + model + "/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal qwen21_proposal(const Json& config = Json::object(), const char* model = "qwen_image_21") {
  return engine().check(qwen21_request(config, model), {});
}

TEST(QwenImage21, FoldersHaveTheDefaultsOfTheirModels) {
  Proposal base = qwen21_proposal();
  EXPECT_THAT(base.errors, IsEmpty());
  EXPECT_EQ(base.spec->id, "qwen-image-2.1");
  EXPECT_EQ(base.config.find("width")->value, 1024);
  EXPECT_EQ(base.config.find("height")->value, 1024);
  EXPECT_EQ(base.config.find("num_inference_steps")->value, 40);
  EXPECT_EQ(base.guider->conditions().size(), 1U);
  EXPECT_FALSE(base.config.find("sigmas") && base.config.find("sigmas")->value.is_array());
  EXPECT_EQ(qwen21_proposal({{"guidance_scale", 2.5}}).guider->conditions().size(), 2U);
}

// A distilled model's folder says which levels it was distilled to.
TEST(QwenImage21, TurboTakesTheLevelsOfItsFolder) {
  const Json levels = {1.0, 0.875, 0.6, 0.3};
  Proposal turbo = qwen21_proposal(Json::object(), "qwen_image_21_turbo");
  EXPECT_THAT(turbo.errors, IsEmpty());
  EXPECT_EQ(turbo.spec->id, "qwen-image-2.1-turbo");
  EXPECT_EQ(turbo.config.find("sigmas")->value, levels);
  EXPECT_EQ(turbo.config.find("sigmas")->origin, Origin::model);
  EXPECT_EQ(turbo.config.find("num_inference_steps")->value, 4);
  auto errors = [](const Json& config) {
    return qwen21_proposal(config, "qwen_image_21_turbo").errors;
  };
  EXPECT_THAT(errors({{"num_inference_steps", 8}}),
              about("config.num_inference_steps", "the levels given make 4 steps"));
  EXPECT_THAT(errors({{"num_inference_steps", 4}}), IsEmpty());
  EXPECT_THAT(errors({{"sigmas", {1.0, 0.5}}}), IsEmpty());
}

// Those of diffusers' modular pipelines, in text2image and in edit.
TEST(QwenImage21, ModularFoldersHaveTheSameDefaults) {
  Proposal base = qwen21_proposal(Json::object(), "qwen_image_21_modular");
  EXPECT_THAT(base.errors, IsEmpty());
  EXPECT_EQ(base.spec->id, "qwen-image-2.1");
  EXPECT_EQ(base.config.find("num_inference_steps")->value, 40);
  EXPECT_EQ(base.config.find("guidance_scale")->value, 1.0);
  Proposal turbo = qwen21_proposal(Json::object(), "qwen_image_21_turbo_modular");
  EXPECT_THAT(turbo.errors, IsEmpty());
  EXPECT_EQ(turbo.spec->id, "qwen-image-2.1-turbo");
  EXPECT_EQ(turbo.config.find("sigmas")->value, Json({1.0, 0.875, 0.6, 0.3}));
  GenerateRequest edit = qwen21_request(Json::object(), "qwen_image_21_turbo_modular");
  edit.inputs["image"] = source_path("tests/goldens/pipelines/inputs/image_88x72.png").string();
  EXPECT_THAT(engine().check(edit, {}).errors, IsEmpty());
  EXPECT_EQ(engine().check(edit, {}).config.find("output_resolution")->value, 1024);
}

TEST(QwenImage21, RefusesByNameWhatItDoesNotDo) {
  auto errors = [](const Json& config) { return qwen21_proposal(config).errors; };
  EXPECT_THAT(errors({{"width", 48}}), about("config.width", "multiple of 32"));
  EXPECT_THAT(errors({{"scheduler", "ddim"}}), about("config.scheduler", "cannot be given"));
  EXPECT_THAT(errors({{"output_format", "jpeg"}}), about("config.output_format", "alpha channel"));
  EXPECT_THAT(errors({{"output", "made.jpg"}}), about("config.output", "alpha channel"));
  EXPECT_THAT(qwen21_proposal({{"max_sequence_length", 77}}).warnings,
              about("config.max_sequence_length"));
  GenerateRequest mask = qwen21_request();
  mask.inputs["image"] = source_path("tests/goldens/pipelines/inputs/image.png").string();
  mask.inputs["mask"] = source_path("tests/goldens/pipelines/inputs/mask.png").string();
  EXPECT_FALSE(engine().check(mask, {}).errors.empty());
}

GenerateRequest qwen21_edit(const char* image, const Json& config = Json::object()) {
  GenerateRequest made = qwen21_request(config);
  made.inputs["image"] =
      source_path(std::string("tests/goldens/pipelines/inputs/") + image).string();
  return made;
}

TEST(QwenImage21, EditsAreOfTheLastImagesProportions) {
  Proposal edit = engine().check(qwen21_edit("image_88x72.png", {{"output_resolution", 256}}), {});
  EXPECT_THAT(edit.errors, IsEmpty());
  EXPECT_EQ(edit.task, "edit");
  EXPECT_EQ(edit.config.find("width")->value, 288);
  EXPECT_EQ(edit.config.find("height")->value, 224);
  GenerateRequest two = qwen21_edit("image_88x72.png", {{"output_resolution", 256}});
  two.inputs["image_reference"] =
      Json::array({source_path("tests/goldens/pipelines/inputs/image_alpha.png").string()});
  edit = engine().check(two, {});
  EXPECT_THAT(edit.errors, IsEmpty());
  EXPECT_EQ(edit.config.find("width")->value, 256);
}

// The processor of the tiny folder takes up to 2048x2048 pixels.
TEST(QwenImage21, RefusesImagesThatTheProcessorWouldResize) {
  EXPECT_THAT(engine().check(qwen21_edit("image.png", {{"output_resolution", 2080}}), {}).errors,
              about("config.output_resolution", "4194304 pixels"));
}

TEST(QwenImage21, RefusesAPromptThatIsTooLong) {
  GenerateRequest request = qwen21_request();
  request.inputs["prompt"] = std::string(9000, '7');
  EXPECT_THAT(engine().check(request, {}).errors, about("inputs.prompt", "8192"));
}

TEST(QwenImage21, RefusesPartsOfOtherModels) {
  GenerateRequest request = qwen21_request();
  request.components["vae"] = source_path("tests/goldens/pipelines/flux2_klein/model/vae").string();
  EXPECT_THAT(engine().check(request, {}).errors, about("transformer.in_channels", "autoencoder"));
  request = qwen21_request();
  request.components["text_encoder"] =
      source_path("tests/goldens/networks/qwen3vl_shared_heads").string();
  EXPECT_THAT(engine().check(request, {}).errors, about("text_encoder.hidden_size", "24 values"));
}

}  // namespace
}  // namespace omnirt::testing
