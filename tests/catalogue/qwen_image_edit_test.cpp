// What is reported about requests to Qwen-Image-Edit before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blocks/qwen2_vl_image.hpp"
#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

std::string edit_input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

GenerateRequest edit_request(const std::string& model, const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/" + model + "/model").string();
  made.inputs["prompt"] = "make the sky red";
  made.inputs["image"] = edit_input("image_88x72.png");
  made.config = config;
  return made;
}

TEST(QwenImageEdit, FoldersAreVariantsByClassAndTransformer) {
  EXPECT_EQ(engine().check(edit_request("qwen_image_edit"), {}).spec->id, "qwen-image-edit");
  EXPECT_EQ(engine().check(edit_request("qwen_image_edit_plus"), {}).spec->id,
            "qwen-image-edit-2511");
}

// 1024 * 1024 pixels in the image's proportions, as the reference reckons it.
TEST(QwenImageEdit, MakesAboutAMillionPixelsInTheLastImagesProportions) {
  Proposal one = engine().check(edit_request("qwen_image_edit"), {});
  EXPECT_THAT(one.errors, IsEmpty());
  EXPECT_EQ(one.task, "edit");
  EXPECT_EQ(one.config.find("width")->value, 1120);
  EXPECT_EQ(one.config.find("height")->value, 928);
  GenerateRequest two = edit_request("qwen_image_edit_plus");
  two.inputs["image_reference"] = Json::array({edit_input("image.png")});
  Proposal last = engine().check(two, {});
  EXPECT_THAT(last.errors, IsEmpty());
  EXPECT_EQ(last.config.find("width")->value, 1024);
}

TEST(QwenImageEdit, RefusesByNameWhatItDoesNotDo) {
  GenerateRequest two = edit_request("qwen_image_edit");
  two.inputs["image_reference"] = Json::array({edit_input("image.png")});
  EXPECT_THAT(engine().check(two, {}).errors, about("inputs.image_reference", "one image"));
  auto errors = [](const Json& config) {
    return engine().check(edit_request("qwen_image_edit_plus", config), {}).errors;
  };
  EXPECT_THAT(errors({{"width", 40}}), about("config.width", "multiple of 16"));
  EXPECT_THAT(errors({{"hires_scale", 2.0}}), about("config.hires_scale"));
  EXPECT_THAT(errors({{"scheduler", "ddim"}}), about("config.scheduler", "cannot be given"));
}

GenerateRequest repaint_request(const std::string& model, const Json& config = Json::object()) {
  GenerateRequest made = edit_request(model, config);
  made.inputs["mask"] = edit_input("part_88x72.png");
  return made;
}

TEST(QwenImageEdit, InpaintsAtTheSizeOfAnEdit) {
  const Proposal made = engine().check(repaint_request("qwen_image_edit"), {});
  EXPECT_THAT(made.errors, IsEmpty());
  EXPECT_EQ(made.task, "inpaint");
  EXPECT_EQ(made.config.find("width")->value, 1120);
  EXPECT_EQ(made.config.find("height")->value, 928);
  EXPECT_EQ(made.config.find("strength")->value, 0.6);
  EXPECT_EQ(made.config.find("num_inference_steps")->value, 50);
}

TEST(QwenImageEdit, RefusesOfAnInpaintingWhatTheReferenceDoesNotTake) {
  EXPECT_THAT(engine().check(repaint_request("qwen_image_edit_plus"), {}).errors,
              about("inputs.mask", "inpaint nothing"));
  GenerateRequest two = repaint_request("qwen_image_edit");
  two.inputs["image_reference"] = Json::array({edit_input("image.png")});
  EXPECT_THAT(engine().check(two, {}).errors, about("inputs.image_reference", "one image"));
  GenerateRequest noise = repaint_request("qwen_image_edit");
  noise.inputs["latents"] = edit_input("sdxl_latents.safetensors");
  EXPECT_THAT(engine().check(noise, {}).errors, about("inputs.latents"));
  EXPECT_THAT(engine().check(repaint_request("qwen_image_edit", {{"hires_scale", 2.0}}), {}).errors,
              about("config.hires_scale"));
}

// Each goes by its own sample of the image's latents.
TEST(QwenImageEdit, InpaintingGivesAnImageTheSameInAnyBatch) {
  GenerateRequest request =
      folder_request(source_path("tests/goldens/pipelines/qwen_image_edit/inpaint"));
  request.config["num_inference_steps"] = 2;
  const Tensor one = run(request).image;
  request.config["num_images_per_prompt"] = 3;
  const Tensor together = run(request).image;
  EXPECT_GT(psnr(one, together.narrow(0, 0, 1), 1.0), 60);
  request.config["max_batch_rows"] = 4;
  request.config["level"] = "eager";  // below which no other level would hide a failure
  EXPECT_GT(psnr(run(request).image, together, 1.0), 60);
}

TEST(QwenImageEdit, NeedsATextEncoderThatSees) {
  GenerateRequest blind = edit_request("qwen_image_edit");
  blind.components["text_encoder"] =
      source_path("tests/goldens/pipelines/flux2_klein/model/text_encoder").string();
  EXPECT_FALSE(engine().check(blind, {}).ok());
}

// transformers' smart_resize: to whole squares, and between the least and the most pixels.
TEST(Qwen2VLImageProcessor, ResizesAsTheReference) {
  const blocks::Qwen2VLImageProcessor processor;
  auto sides = [&](int64_t height, int64_t width) {
    Tensor made = processor.pixel_values(io::Image::zeros(width, height, 3));
    return std::pair{made.size(2), made.size(3)};
  };
  EXPECT_EQ(sides(72, 88), (std::pair<int64_t, int64_t>{84, 84}));
  EXPECT_EQ(sides(20, 30), (std::pair<int64_t, int64_t>{56, 84}));
  EXPECT_EQ(sides(2000, 3000), (std::pair<int64_t, int64_t>{812, 1204}));
  EXPECT_THROW(sides(2, 500), InvalidRequest);
}

}  // namespace
}  // namespace omnirt::testing
