// What is reported about requests to Z-Image before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

std::string z_image_input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

GenerateRequest z_image_request(const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/z_image/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal checked(const GenerateRequest& request) {
  return engine().check(request, {});
}

TEST(ZImage, FoldersAreVariantsOfTheEntryWhoseShiftTheyHave) {
  Proposal base = checked(z_image_request());
  EXPECT_THAT(base.errors, IsEmpty());
  EXPECT_EQ(base.spec->id, "z-image");
  EXPECT_EQ(base.config.find("num_inference_steps")->value, 50);
  EXPECT_EQ(base.config.find("guidance_scale")->value, 5.0);
  PipelineFolder folder;
  folder.components["scheduler"].config = {{"shift", 3.0}};
  const Family* family = engine().catalogue().family_of_class("ZImagePipeline");
  ASSERT_TRUE(family);
  EXPECT_EQ(family->variant_of(folder), "z-image-turbo");
}

TEST(ZImage, GoesByTheNamesThatOthersUse) {
  for (auto [alias, id] : {std::pair{"zimage", "z-image"}, {"zimage-turbo", "z-image-turbo"}}) {
    const ModelSpec* entry = engine().catalogue().find_entry(alias, "inpaint");
    ASSERT_TRUE(entry) << alias;
    EXPECT_EQ(entry->id, id);
  }
}

TEST(ZImage, TakesSizesOfWholeTokensThatItHasPositionsFor) {
  EXPECT_THAT(checked(z_image_request({{"width", 40}, {"height", 64}})).errors,
              about("config.width", "multiple of 16"));
  EXPECT_THAT(checked(z_image_request({{"width", 64}, {"height", 1296}})).errors,
              about("config.height", "positions for 1280 pixels"));
}

TEST(ZImage, RefusesTextsThatItHasNoPositionsFor) {
  GenerateRequest request = z_image_request({{"width", 64}, {"height", 64}});
  request.inputs["prompt"] = std::string(400, 'x');
  EXPECT_THAT(checked(request).errors, about("inputs.prompt", "160 positions"));
  request.config["max_sequence_length"] = 96;
  EXPECT_THAT(checked(request).errors, IsEmpty());
}

TEST(ZImage, MakesAnImageOfAnotherAtItsSize) {
  GenerateRequest request = z_image_request();
  request.inputs["image"] = z_image_input("image_88x72.png");
  Proposal own = checked(request);
  EXPECT_THAT(own.errors, IsEmpty());
  EXPECT_EQ(own.task, "image2image");
  EXPECT_EQ(own.config.find("width")->value, 80);
  EXPECT_EQ(own.config.find("height")->value, 64);
  EXPECT_EQ(own.config.find("strength")->value, 0.6);
  request.config["strength"] = 0.0;
  EXPECT_THAT(checked(request).errors, about("config.strength", "none of the 50 steps"));
  request.inputs["mask"] = z_image_input("mask.png");
  request.config.erase("strength");
  EXPECT_EQ(checked(request).config.find("strength")->value, 1.0);
}

TEST(ZImage, RefusesWhatItDoesNotHave) {
  EXPECT_THAT(checked(z_image_request({{"cache", "deep"}})).errors, about("config.cache"));
  EXPECT_THAT(checked(z_image_request({{"scheduler", "ddim"}})).errors,
              about("config.scheduler", "cannot be given"));
}

}  // namespace
}  // namespace omnirt::testing
