// What is reported about requests to FLUX.3 before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

std::string flux3_folder(const char* model) {
  return source_path(std::string("tests/goldens/pipelines/") + model + "/model").string();
}

std::string flux3_input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

GenerateRequest flux3_request(const char* model, const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = flux3_folder(model);
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal flux3_proposal(const GenerateRequest& request) {
  return engine().check(request, {});
}

TEST(Flux3, ModularFoldersAreBaseOrDistilledByTheirTransformer) {
  Proposal distilled = flux3_proposal(flux3_request("flux3_klein"));
  EXPECT_THAT(distilled.errors, IsEmpty());
  EXPECT_EQ(distilled.spec->id, "flux3.klein");
  EXPECT_EQ(distilled.config.find("num_inference_steps")->value, 16);
  EXPECT_EQ(distilled.guider->conditions().size(), 1U);
  Proposal base = flux3_proposal(flux3_request("flux3_klein_base"));
  EXPECT_THAT(base.errors, IsEmpty());
  EXPECT_EQ(base.spec->id, "flux3.klein-base");
  EXPECT_EQ(base.config.find("num_inference_steps")->value, 50);
  EXPECT_EQ(base.config.find("width")->value, 1024);
  EXPECT_EQ(base.guider->conditions().size(), 2U);
}

// Indices name no scheduler, which the reference's blocks make.
TEST(Flux3, FoldersWithoutASchedulerHaveThatOfTheirBlocks) {
  Proposal made = flux3_proposal(flux3_request("flux3_klein"));
  EXPECT_EQ(made.config.find("scheduler")->value, "FlowMatchEulerDiscreteScheduler");
  EXPECT_EQ(made.scheduler.config.at("shift"), 6.93);
}

TEST(Flux3, AnEditIsAsLargeAsTheCanvasOfItsImage) {
  GenerateRequest request = flux3_request("flux3_klein");
  request.inputs["image"] = flux3_input("image_88x72.png");
  Proposal one = flux3_proposal(request);
  EXPECT_THAT(one.errors, IsEmpty());
  EXPECT_EQ(one.task, "edit");
  EXPECT_EQ(one.config.find("width")->value, 96);
  EXPECT_EQ(one.config.find("height")->value, 80);
  request.inputs["image_reference"] = Json::array({flux3_input("image.png")});
  Proposal two = flux3_proposal(request);
  EXPECT_EQ(two.config.find("width")->value, 80);
  EXPECT_EQ(two.config.find("height")->value, 64);
}

TEST(Flux3, RefusesWhatItDoesNotHave) {
  auto errors = [](const char* model, const Json& config) {
    return flux3_proposal(flux3_request(model, config)).errors;
  };
  EXPECT_THAT(errors("flux3_klein", {{"guidance_scale", 3.5}}),
              about("config.guidance_scale", "flow_map"));
  EXPECT_THAT(errors("flux3_klein_base", {{"width", 100}, {"height", 64}}),
              about("config.width", "multiple of 16"));
  EXPECT_THAT(errors("flux3_klein_base", {{"text_encoder_out_layers", {4, 8}}}),
              about("config.text_encoder_out_layers", "16 values"));
}

TEST(Flux3, RefusesATransformerOfOtherLatents) {
  GenerateRequest request = flux3_request("flux3_klein_base");
  request.inputs["image"] = flux3_input("image.png");
  request.components["transformer"] =
      source_path("tests/goldens/networks/flux3_transformer_rare_options").string();
  EXPECT_THAT(flux3_proposal(request).errors, about("transformer.cond_in_channels", "12 channels"));
}

}  // namespace
}  // namespace omnirt::testing
