// Images of one request are the same however many rows of them the denoiser takes at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

class Batches : public ::testing::TestWithParam<std::string> {};

GenerateRequest four_images(const std::string& family, const std::string& task = "text2image") {
  GenerateRequest request =
      folder_request(source_path("tests/goldens/pipelines/" + family + "/" + task));
  request.config["num_images_per_prompt"] = 4;
  request.config["num_inference_steps"] = 2;
  return request;
}

void expect_the_same_in_three_and_one(GenerateRequest request) {
  const Tensor together = run(request).image;
  request.config["max_batch_rows"] = 3;
  request.config["level"] = "eager";  // below which no other level would hide a failure
  EXPECT_GT(psnr(run(request).image, together, 1.0), 60);
}

// A batch of three rows and one of the last row hold one text.
TEST_P(Batches, GiveFourImagesTheSameByThreeAndOne) {
  expect_the_same_in_three_and_one(four_images(GetParam()));
}

// So do those of both conditions where the negative prompt is the prompt.
TEST_P(Batches, GiveThemTheSameWhereTheNegativePromptIsThePrompt) {
  GenerateRequest request = four_images(GetParam());
  request.inputs["negative_prompt"] = request.inputs["prompt"];
  if (engine().check(request, {}).errors.empty()) expect_the_same_in_three_and_one(request);
}

// Each image of the run starts from the one that was given, under noise of its own.
TEST(BatchesFromAnImage, GiveFourImagesTheSameByThreeAndOne) {
  GenerateRequest request = four_images("sana_sprint", "image2image");
  request.config["strength"] = 0.4;  // so much that the image is seen
  expect_the_same_in_three_and_one(request);
}

INSTANTIATE_TEST_SUITE_P(OfTransformers, Batches,
                         ::testing::Values("aura_flow", "chroma", "flux2_klein", "flux2_klein_kv",
                                           "flux_dev", "krea2", "krea2_turbo", "lumina2",
                                           "pixart_sigma", "qwen_image", "qwen_image_21", "sana",
                                           "sana_sprint", "sd15", "sd3", "z_image", "z_image_omni"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace omnirt::testing
