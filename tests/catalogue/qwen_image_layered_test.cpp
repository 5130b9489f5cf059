// What is reported about requests to Qwen-Image-Layered before any weight is read, and its files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

std::string layered_input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

GenerateRequest layered_request(const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/qwen_image_layered/model").string();
  made.inputs = {{"prompt", "apple"}, {"image", layered_input("image_88x72.png")}};
  made.config = config;
  return made;
}

Proposal layered_proposal(const GenerateRequest& request) {
  return engine().check(request, {});
}

TEST(QwenImageLayered, TakesTheImagesProportionsAndTheResolutionsPixels) {
  Proposal own = layered_proposal(layered_request());
  EXPECT_THAT(own.errors, IsEmpty());
  EXPECT_EQ(own.spec->id, "qwen-image-layered");
  EXPECT_EQ(own.config.find("width")->value, 704);
  EXPECT_EQ(own.config.find("height")->value, 576);
  EXPECT_EQ(own.config.find("layers")->value, 4);
  EXPECT_EQ(own.config.find("guidance_scale")->value, 4.0);
  Proposal small = layered_proposal(layered_request({{"resolution", 64}}));
  EXPECT_EQ(small.config.find("width")->value, 64);
  EXPECT_THAT(layered_proposal(layered_request({{"width", 512}})).errors,
              about("config.width", "resolution says"));
}

TEST(QwenImageLayered, WantsAnImageAndParts) {
  GenerateRequest request = layered_request();
  request.inputs.erase("image");
  EXPECT_THAT(layered_proposal(request).errors, about("inputs"));
  request = layered_request();
  request.components["vae"] = source_path("tests/goldens/pipelines/qwen_image/model/vae").string();
  EXPECT_THAT(layered_proposal(request).errors, about("components.vae", "4 are wanted"));
  request = layered_request();
  request.components["transformer"] =
      source_path("tests/goldens/pipelines/qwen_image/model/transformer").string();
  EXPECT_THAT(layered_proposal(request).errors,
              about("transformer.use_layer3d_rope", "not trained on layers"));
}

TEST(QwenImageLayered, WritesNoFormatWithoutAlpha) {
  EXPECT_THAT(layered_proposal(layered_request({{"output_format", "jpeg"}})).errors,
              about("config.output_format", "JPEG has none"));
  EXPECT_THAT(layered_proposal(layered_request({{"output", "made.jpg"}})).errors,
              about("config.output", "JPEG has none"));
}

// Nor do other models of its kind take its autoencoder, whose images have alpha.
TEST(QwenImageLayered, KeepsItsPartsToItself) {
  GenerateRequest request;
  request.model = source_path("tests/goldens/pipelines/qwen_image/model").string();
  request.inputs["prompt"] = "apple";
  request.components["vae"] = source_path("tests/goldens/networks/qwen_image_vae_alpha").string();
  EXPECT_THAT(layered_proposal(request).errors, about("components.vae", "3 are wanted"));
}

TEST(QwenImageLayered, WritesAFileWithAlphaForEachLayer) {
  GenerateRequest request = layered_request({{"resolution", 40},
                                             {"layers", 2},
                                             {"seed", 7},
                                             {"num_images_per_prompt", 2},
                                             {"num_inference_steps", 1}});
  std::vector<uint64_t> seeds;
  for (const ArtifactReport& each : run(request).report.artifacts) seeds.push_back(each.seed);
  EXPECT_THAT(seeds, ::testing::ElementsAre(7, 7, 8, 8));
  for (const io::Image& made : written_images(request)) {
    EXPECT_EQ(made.channels, 4);
    EXPECT_EQ(made.width, 32);
    EXPECT_EQ(made.height, 32);
  }
  // A seed does not tell the layers of its image apart.
  TemporaryFolder folder;
  request.config["output"] = folder.file("a-{seed}.png");
  run(request);
  EXPECT_THAT(names_in(folder.path()),
              ::testing::ElementsAre("a-7_0.png", "a-7_1.png", "a-8_2.png", "a-8_3.png"));
}

}  // namespace
}  // namespace omnirt::testing
