// What is told of requests to Stable Diffusion 3 before any weight is read, and its guiders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest sd3_request(const std::string& model, const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/" + model + "/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal sd3_checked(const GenerateRequest& request) {
  return engine().check(request, {});
}

std::string sd3_input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

TEST(SD3, FoldersAreVariantsOfTheEntryWhoseTransformerTheyHave) {
  Proposal medium = sd3_checked(sd3_request("sd3"));
  EXPECT_THAT(medium.errors, IsEmpty());
  EXPECT_EQ(medium.spec->id, "sd3-medium");
  EXPECT_EQ(medium.config.find("num_inference_steps")->value, 28);
  EXPECT_EQ(medium.config.find("guidance_scale")->value, 7.0);
  EXPECT_EQ(medium.config.find("max_sequence_length")->value, 256);
  EXPECT_EQ(medium.config.find("width")->value, 64);
  EXPECT_EQ(sd3_checked(sd3_request("sd35")).spec->id, "sd3.5-medium");
  const Family* family = engine().catalogue().family_of_class("StableDiffusion3Pipeline");
  ASSERT_TRUE(family);
  PipelineFolder folder;
  folder.components["transformer"].config = {{"qk_norm", "rms_norm"}};
  folder.path = "/models/stable-diffusion-3.5-large";
  EXPECT_EQ(family->variant_of(folder), "sd3.5-large");
  folder.path = "/models/stable-diffusion-3.5-large-turbo";
  EXPECT_EQ(family->variant_of(folder), "sd3.5-large-turbo");
  folder.path = "/hub/models--stabilityai--stable-diffusion-3.5-large-turbo/snapshots/12ab";
  EXPECT_EQ(family->variant_of(folder), "sd3.5-large-turbo");
}

// In blocks that attend once and twice: 3.5's attends to the image a second time.
TEST(SD3, HasAttentionThatGuidersPerturb) {
  for (const char* model : {"sd3", "sd35"}) {
    GenerateRequest request = sd3_request(model, {{"num_inference_steps", 3}, {"seed", 3}});
    request.guider = {{"type", "cfg"}, {"guidance_scale", 3.0}};
    request.config.update({{"width", 48}, {"height", 32}, {"max_sequence_length", 24}});
    const Tensor plain = run(request).image;
    for (const Json& guider :
         {Json{{"type", "pag"}, {"pag_applied_layers", "1"}},
          Json{{"type", "seg"}, {"seg_applied_layers", "1"}},
          Json{{"type", "seg"}, {"seg_applied_layers", "1"}, {"seg_blur_sigma", 1.0}},
          Json{{"type", "slg"},
               {"slg_layers", "1"},
               {"slg_skip", "attention"},
               {"slg_start", 0.0},
               {"slg_stop", 1.0}}}) {
      SCOPED_TRACE(model + guider.dump());
      GenerateRequest guided = request;
      guided.guider = guider;
      guided.guider["guidance_scale"] = 3.0;
      const Tensor made = run(guided).image;
      EXPECT_FALSE(made.equal(plain));
      EXPECT_TRUE(made.isfinite().all().item<bool>());
    }
  }
}

TEST(SD3, GoesByTheNamesThatOthersUse) {
  for (auto [alias, id] : {std::pair{"sd3", "sd3-medium"},
                           {"sd3.5", "sd3.5-large"},
                           {"stable-diffusion-3.5-medium", "sd3.5-medium"}}) {
    const ModelSpec* entry = engine().catalogue().find_entry(alias, "inpaint");
    ASSERT_TRUE(entry) << alias;
    EXPECT_EQ(entry->id, id);
  }
}

TEST(SD3, TakesSizesOfWholeTokensThatItHasPositionsFor) {
  EXPECT_THAT(sd3_checked(sd3_request("sd3", {{"width", 60}, {"height", 64}})).errors,
              about("config.width", "multiple of 8"));
  EXPECT_THAT(sd3_checked(sd3_request("sd3", {{"width", 64}, {"height", 104}})).errors,
              about("config.height", "positions for 96 pixels"));
}

TEST(SD3, WithoutT5RefusesWhatOnlyItReads) {
  GenerateRequest request = sd3_request("sd35");
  request.inputs["prompt_3"] = "a tree";
  EXPECT_THAT(sd3_checked(request).errors, about("inputs.prompt_3", "only T5 reads it"));
  request.model = sd3_request("sd3").model;
  EXPECT_THAT(sd3_checked(request).errors, IsEmpty());
  for (const char* model : {"sd3", "sd35"}) {
    EXPECT_THAT(sd3_checked(sd3_request(model, {{"max_sequence_length", 513}})).errors,
                about("config.max_sequence_length", "more than 512"));
  }
}

TEST(SD3, SkipsLayersNextToGuidanceAlone) {
  Json skipped = {{"skip_guidance_layers", {1, 2}}};
  Proposal taken = sd3_checked(sd3_request("sd35", skipped));
  EXPECT_THAT(taken.errors, IsEmpty());
  EXPECT_EQ(taken.guider->conditions().size(), 3U);
  skipped["guidance_scale"] = 1.0;
  EXPECT_THAT(sd3_checked(sd3_request("sd35", skipped)).warnings,
              about("config.skip_guidance_layers", "has no effect without guidance"));
  EXPECT_FALSE(sd3_checked(sd3_request("sd35", {{"skip_guidance_layers", {7}}})).errors.empty());
  EXPECT_THAT(sd3_checked(sd3_request("sd35", {{"skip_layer_guidance_stop", 0.5}})).warnings,
              about("config.skip_layer_guidance_stop", "skip_guidance_layers"));
}

// As the reference does, whatever size the given image has.
TEST(SD3, StartsFromImagesAtTheModelsSize) {
  GenerateRequest request = sd3_request("sd3");
  request.inputs["image"] = sd3_input("image_88x72.png");
  Proposal image = sd3_checked(request);
  EXPECT_THAT(image.errors, IsEmpty());
  EXPECT_EQ(image.task, "image2image");
  EXPECT_EQ(image.config.find("width")->value, 64);
  EXPECT_EQ(image.config.find("strength")->value, 0.6);
  EXPECT_EQ(image.config.find("num_inference_steps")->value, 50);
  request.config["strength"] = 0.0;
  EXPECT_THAT(sd3_checked(request).errors, about("config.strength", "none of the 50 steps"));
}

GenerateRequest sd3_control_run(const std::string& name) {
  return folder_request(source_path("tests/goldens/control/sd3/" + name));
}

std::string sd3_network(const std::string& name) {
  return source_path("tests/goldens/networks/" + name).string();
}

// It reads the image that is inpainted, from noise whatever the image.
TEST(SD3, AControlNetForInpaintingTakesImageAndMaskAlone) {
  EXPECT_THAT(sd3_checked(sd3_control_run("inpaint_two")).errors, IsEmpty());
  GenerateRequest request = sd3_control_run("inpaint");
  request.config["strength"] = 0.5;
  EXPECT_THAT(sd3_checked(request).warnings, about("config.strength"));
  request = sd3_control_run("inpaint");
  request.inputs["control_image"] = sd3_input("image.png");
  EXPECT_THAT(sd3_checked(request).errors, about("inputs.control_image"));
  request = sd3_control_run("inpaint");
  request.inputs.erase("mask");
  request.task = "";
  EXPECT_THAT(sd3_checked(request).errors, about("encode_masked_control"));
  request = sd3_control_run("one");
  request.components["controlnet"] = sd3_network("sd3_controlnet_inpaint");
  EXPECT_THAT(sd3_checked(request).errors, about("inputs.image"));
}

TEST(SD3, ControlNetsForInpaintingGoWithNoOthers) {
  GenerateRequest request = sd3_control_run("inpaint_two");
  request.components["controlnet"] =
      Json::array({sd3_network("sd3_controlnet_inpaint"), sd3_network("sd3_controlnet")});
  request.inputs["control_image_1"] = sd3_input("image.png");
  EXPECT_THAT(sd3_checked(request).errors, about("components.controlnet_1", "for inpainting"));
}

// What a ControlNet reads of the image is drawn of each image's own seed.
TEST(SD3, AControlNetForInpaintingGivesAnImageTheSameInAnyBatch) {
  GenerateRequest request = sd3_control_run("inpaint");
  request.config["num_images_per_prompt"] = 2;
  const Tensor together = run(request).image;
  EXPECT_GT(psnr(run(sd3_control_run("inpaint")).image, together.narrow(0, 0, 1), 1.0), 60);
  request.config["max_batch_rows"] = 3;
  request.config["level"] = "eager";  // below which no other level would hide a failure
  EXPECT_GT(psnr(run(request).image, together, 1.0), 60);
}

TEST(SD3, RefusesWhatItDoesNotHave) {
  auto errors_of = [](const Json& config) {
    return sd3_checked(sd3_request("sd3", config)).errors;
  };
  EXPECT_THAT(errors_of({{"cache", "deep"}}), about("config.cache"));
  EXPECT_THAT(errors_of({{"guidance_rescale", 0.5}}), about("config.guidance_rescale"));
  GenerateRequest request = sd3_request("sd3");
  request.components["controlnet"] =
      source_path("tests/goldens/control/parts/controlnet_a").string();
  request.inputs["control_image"] = sd3_input("image.png");
  EXPECT_FALSE(sd3_checked(request).errors.empty());
}

}  // namespace
}  // namespace omnirt::testing
