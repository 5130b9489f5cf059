// What is reported about requests to Krea 2 before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest krea2_request(const Json& config = Json::object(), const char* model = "krea2") {
  GenerateRequest made;
  made.model = source_path(std::string("tests/goldens/pipelines/") + model + "/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal krea2_proposal(const Json& config = Json::object(), const char* model = "krea2") {
  return engine().check(krea2_request(config, model), {});
}

TEST(Krea2, FoldersHaveTheDefaultsOfTheirModels) {
  Proposal base = krea2_proposal();
  EXPECT_THAT(base.errors, IsEmpty());
  EXPECT_EQ(base.spec->id, "krea-2");
  EXPECT_EQ(base.config.find("width")->value, 1024);
  EXPECT_EQ(base.config.find("num_inference_steps")->value, 28);
  EXPECT_EQ(base.config.find("guidance_scale")->value, 4.5);
  EXPECT_EQ(base.config.find("text_encoder_select_layers")->value, Json({1, 3, 4}));
  EXPECT_EQ(base.guider->conditions().size(), 2U);
  Proposal turbo = krea2_proposal(Json::object(), "krea2_turbo");
  EXPECT_THAT(turbo.errors, IsEmpty());
  EXPECT_EQ(turbo.spec->id, "krea-2-turbo");
  EXPECT_EQ(turbo.config.find("num_inference_steps")->value, 8);
  EXPECT_EQ(turbo.guider->conditions().size(), 1U);
}

// Whose index says by its blocks' name which model it is, and names no layers of the text encoder:
// those of the published one, which these small ones do not have.
TEST(Krea2, ModularFoldersHaveThemToo) {
  const Json layers = {{"text_encoder_select_layers", {1, 3, 4}}};
  Proposal base = krea2_proposal(layers, "krea2_modular");
  EXPECT_THAT(base.errors, IsEmpty());
  EXPECT_EQ(base.spec->id, "krea-2");
  EXPECT_EQ(base.config.find("guidance_scale")->value, 4.5);
  Proposal turbo = krea2_proposal(layers, "krea2_turbo_modular");
  EXPECT_THAT(turbo.errors, IsEmpty());
  EXPECT_EQ(turbo.spec->id, "krea-2-turbo");
  EXPECT_EQ(turbo.config.find("num_inference_steps")->value, 8);
  EXPECT_THAT(krea2_proposal(Json::object(), "krea2_modular").errors,
              about("text_encoder_select_layers"));
}

TEST(Krea2, RefusesByNameWhatItDoesNotDo) {
  auto errors = [](const Json& config) { return krea2_proposal(config).errors; };
  EXPECT_THAT(errors({{"width", 40}}), about("config.width", "multiple of 16"));
  EXPECT_THAT(errors({{"scheduler", "ddim"}}), about("config.scheduler", "cannot be given"));
  EXPECT_THAT(errors({{"text_encoder_select_layers", {1, 3, 6}}}),
              about("config.text_encoder_select_layers", "3 layers of a text encoder that has 5"));
  EXPECT_THAT(errors({{"text_encoder_select_layers", {1, 3}}}),
              about("config.text_encoder_select_layers", "reads 3 layers"));
  GenerateRequest image = krea2_request();
  image.inputs["image"] = source_path("tests/goldens/pipelines/inputs/image.png").string();
  EXPECT_FALSE(engine().check(image, {}).errors.empty());
}

TEST(Krea2, QuotesWhatOfAPromptIsCut) {
  GenerateRequest request = krea2_request({{"max_sequence_length", 9}});
  request.inputs["prompt"] = "a small red apple and the sea at night";
  EXPECT_THAT(engine().check(request, {}).warnings, about("inputs.prompt", "9 tokens"));
}

TEST(Krea2, RefusesPartsOfOtherModels) {
  GenerateRequest request = krea2_request();
  request.components["vae"] = source_path("tests/goldens/pipelines/flux2_klein/model/vae").string();
  EXPECT_THAT(engine().check(request, {}).errors, about("transformer.in_channels", "autoencoder"));
  request = krea2_request();
  request.components["text_encoder"] =
      source_path("tests/goldens/networks/qwen3vl_shared_heads").string();
  EXPECT_THAT(engine().check(request, {}).errors, about("text_encoder.hidden_size", "24 values"));
}

}  // namespace
}  // namespace omnirt::testing
