// Images made larger by a network: files against spandrel's (tools/goldens/upscalers.py), requests
// with an upscaler after a text, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "blocks/upscale_images.hpp"
#include "catalogue/support.hpp"
#include "io/compare.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

fs::path goldens() {
  return source_path("tests/goldens/upscaled");
}

std::string network(const std::string& name) {
  return source_path("tests/goldens/upscalers/" + name + "/model.safetensors").string();
}

class Upscaled : public ::testing::TestWithParam<std::string> {};

TEST_P(Upscaled, EqualTheReference) {
  const fs::path golden = goldens() / GetParam();
  const io::Image made = written_image(folder_request(golden));
  const io::Image expected = io::read_image(golden / "image.png");
  ASSERT_EQ(made.width, expected.width);
  ASSERT_EQ(made.height, expected.height);
  EXPECT_GE(io::psnr(made, expected), 60);
}

INSTANTIATE_TEST_SUITE_P(Goldens, Upscaled, ::testing::ValuesIn(names_in(goldens())),
                         [](const auto& info) { return info.param; });

GenerateRequest text_request(const std::string& model) {
  GenerateRequest request;
  request.model = source_path("tests/goldens/pipelines/" + model + "/model").string();
  request.inputs["prompt"] = "a red apple";
  request.config = {{"num_inference_steps", 2}, {"seed", 3}};
  return request;
}

// An image of a text comes out as one that is given: the upscaler is the last step alone.
TEST(Upscaler, MakesEachFamilysImagesLarger) {
  for (const char* model : {"sd15", "sdxl", "pixart_sigma", "flux2_klein", "flux_dev"}) {
    SCOPED_TRACE(model);
    TemporaryFolder folder;
    GenerateRequest small = text_request(model), large = small, after;
    small.config["output"] = (folder.path() / "small.png").string();
    run(small);
    large.components["upscaler"] = network("rrdb_x2plus");
    after.task = "upscale";
    after.model = network("rrdb_x2plus");
    after.inputs["image"] = (folder.path() / "small.png").string();
    EXPECT_EQ(written_image(large), written_image(after));
  }
}

TEST(Upscaler, IsFoundByNameInTheFoldersOfOtherPrograms) {
  TemporaryFolder folder;
  GenerateRequest request = text_request("sd15");
  request.components["upscaler"] = network("rrdb_x2plus");
  const io::Image expected = written_image(request);
  for (const char* below : {"upscalers", "upscale_models", "ESRGAN", "RealESRGAN"}) {
    fs::path models = folder.path() / (std::string(below) + "_models");
    fs::create_directories(models / below);
    fs::copy_file(network("rrdb_x2plus"), models / below / "x2.safetensors");
    setenv("OMNIRT_MODELS", models.c_str(), 1);
    for (const char* name : {"x2", "x2.safetensors"}) {
      request.components["upscaler"] = name;
      EXPECT_EQ(written_image(request), expected) << below << " " << name;
    }
    unsetenv("OMNIRT_MODELS");
  }
}

std::vector<Finding> refusal_of(const GenerateRequest& request) {
  try {
    run(request);
  } catch (const InvalidRequest& refused) {
    return refused.findings();
  }
  return {};
}

TEST(Upscaler, OfAnotherKindOfNetworkIsRefused) {
  GenerateRequest request = text_request("sd15");
  request.components["upscaler"] = source_path("tests/goldens/pipelines/sd15/model/vae").string();
  auto findings = refusal_of(request);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].field, ::testing::HasSubstr("upscaler"));
}

TEST(Upscaler, ThatIsAPickleIsRefusedWithTheWayToConvertIt) {
  TemporaryFolder folder;
  const fs::path file = folder.path() / "4x.pth";
  std::ofstream(file) << std::string("PK\3\4", 4) << std::string(200, '\0');
  GenerateRequest request = text_request("sd15");
  request.components["upscaler"] = file.string();
  auto findings = refusal_of(request);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].way_out, ::testing::HasSubstr("safetensors"));
}

TEST(Upscaler, IsRefusedWhereTheResultWouldBeTooLarge) {
  GenerateRequest text = text_request("sd15");
  text.components["upscaler"] = network("rrdb_old_x8");
  text.config["width"] = text.config["height"] = 2048;
  auto findings = refusal_of(text);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].field, "config.upscale");
  EXPECT_EQ(findings[0].value, "16384x16384");
}

TEST(Upscaler, IsRefusedWhereARunEndsWithLatents) {
  GenerateRequest request = text_request("sdxl");
  request.components["upscaler"] = network("rrdb_x2plus");
  request.config["output_type"] = "latent";
  auto findings = refusal_of(request);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].field, "components.upscaler");
}

TEST(Upscaler, IsRefusedTilesThatOverlapByHalf) {
  GenerateRequest request = folder_request(goldens() / "whole");
  request.config["upscale_tile"] = 64;
  request.config["upscale_overlap"] = 32;
  auto findings = refusal_of(request);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].field, "config.upscale_overlap");
}

TEST(UpscalePlan, RepeatsUntilTheImageIsLargeEnough) {
  using blocks::ImageSize;
  using blocks::plan_upscale;
  struct Case {
    int64_t scale;
    std::optional<double> factor;
    int passes;
    ImageSize result;
  };
  for (const Case& each :
       {Case{4, {}, 1, {400, 200}}, Case{4, 2.5, 1, {250, 125}}, Case{2, 3.0, 2, {300, 150}},
        Case{2, 16.0, 3, {1600, 800}}, Case{4, 0.5, 1, {50, 25}}, Case{1, {}, 1, {100, 50}},
        Case{1, 2.0, 1, {200, 100}}}) {
    auto plan = plan_upscale({100, 50}, each.scale, each.factor);
    EXPECT_EQ(plan.passes, each.passes) << each.scale;
    EXPECT_EQ(plan.result, each.result) << each.scale;
  }
}

}  // namespace
}  // namespace omnirt::testing
