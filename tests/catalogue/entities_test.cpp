// Prompts for parts of the image, and denoising in windows, on tiny folders.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "catalogue/support.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Masks as files, removed with the test.
class Entities : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // White in the left `share` of the image.
  std::string mask(double share) {
    io::Image image{.width = 64, .height = 64, .channels = 1, .pixels = {}};
    image.pixels.assign(64 * 64, 0);
    auto white = static_cast<size_t>(64 * share);
    for (size_t y = 0; y < 64; ++y) {
      for (size_t x = 0; x < white; ++x) image.pixels[y * 64 + x] = 255;
    }
    fs::path path = folder_ / fmt::format("mask_{}.png", share);
    io::write_image(path, image, io::ImageFormat::png, {});
    return path.string();
  }

  static GenerateRequest request(const char* family, const std::string& prompt) {
    GenerateRequest made;
    made.model = source_path(fmt::format("tests/goldens/pipelines/{}/model", family)).string();
    made.inputs = {{"prompt", prompt}, {"negative_prompt", "grey"}};
    made.config = {{"seed", 4}, {"num_inference_steps", 3}};
    if (std::string(family) == "sdxl") made.config.update({{"width", 64}, {"height", 64}});
    return made;
  }

  GenerateRequest with(GenerateRequest base, const std::vector<std::string>& prompts,
                       const std::vector<double>& shares) {
    base.inputs["entity_prompts"] = prompts;
    for (double share : shares) base.inputs["entity_masks"].push_back(mask(share));
    return base;
  }

  static std::string refusal(const GenerateRequest& request) {
    Proposal proposal = engine().check(request);
    std::string all;
    for (const Finding& finding : proposal.errors)
      all += finding.field + ": " + finding.message + "\n";
    return all;
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("omnirt-entities-{}", getpid());
};

TEST_F(Entities, RefusesEntitiesThatChangeWithTheStep) {
  GenerateRequest base = with(request("sd15", "a [red|blue] apple"), {"a [red|blue] boat"}, {0.5});
  base.config["prompt_syntax"] = "a1111";
  EXPECT_THAT(refusal(base), HasSubstr("entities are read alike at every step"));
}

TEST_F(Entities, OneWhoseMaskIsWhiteAllOverGivesTheImageOfItsPrompt) {
  Tensor plain = run(request("sd15", "a red ball")).image;
  Tensor entity = run(with(request("sd15", "a blue sea"), {"a red ball"}, {1.0})).image;
  EXPECT_GT(psnr(plain, entity, 1.0), 100);
}

TEST_F(Entities, TheSameHoldsForStableDiffusionXLWithThePromptAsAWhole) {
  Tensor plain = run(request("sdxl", "a red ball")).image;
  Tensor entity = run(with(request("sdxl", "a red ball"), {"a red ball"}, {1.0})).image;
  EXPECT_GT(psnr(plain, entity, 1.0), 100);
}

TEST_F(Entities, EachChangesTheImageAndTheNegativePromptIsLeftAloneUnlessAsked) {
  GenerateRequest two =
      with(request("sd15", "a blue sea"), {"a red ball", "a green tree"}, {0.5, 0.25});
  Tensor plain = run(request("sd15", "a blue sea")).image, both = run(two).image;
  EXPECT_LT(psnr(plain, both, 1.0), 60);
  two.config["entities_on_negative"] = true;
  EXPECT_LT(psnr(run(two).image, both, 1.0), 60);
}

TEST_F(Entities, APromptWithoutItsMaskIsRefusedAndSoAreEntitiesInWindows) {
  EXPECT_THAT(refusal(with(request("sd15", "a sea"), {"a ball", "a tree"}, {0.5})),
              HasSubstr("entity_masks: 2 entity_prompts were given"));
  GenerateRequest windows = with(request("sd15", "a sea"), {"a ball"}, {0.5});
  windows.config["window_size"] = 64;
  EXPECT_THAT(refusal(windows), HasSubstr("window_size: entities lie in the whole image"));
  GenerateRequest alone = request("sd15", "a sea");
  alone.inputs["entity_masks"] = mask(0.5);
  EXPECT_THAT(refusal(alone), HasSubstr("inputs.entity_prompts"));
}

TEST_F(Entities, AMaskThatIsBlackAllOverEndsTheRunWithItsName) {
  EXPECT_THROW(
      {
        try {
          run(with(request("sd15", "a sea"), {"a ball"}, {0.0}));
        } catch (const InvalidRequest& refused) {
          EXPECT_THAT(refused.what(), HasSubstr("entity_masks[0]"));
          throw;
        }
      },
      InvalidRequest);
}

TEST_F(Entities, WindowsThatCoverTheImageAtOnceAreThePlainRun) {
  GenerateRequest plain = request("sd15", "a sea");
  plain.config.update({{"width", 64}, {"height", 64}});
  GenerateRequest windows = plain;
  windows.config["window_size"] = 64;
  EXPECT_TRUE(run(plain).image.equal(run(windows).image));
}

TEST_F(Entities, WindowsOffTheGridOrWithGapsAreRefused) {
  GenerateRequest windows = request("sd15", "a sea");
  windows.config.update({{"window_size", 68}, {"window_stride", 72}});
  std::string refused = refusal(windows);
  EXPECT_THAT(refused, HasSubstr("config.window_size: windows lie on the grid"));
  EXPECT_THAT(refused, HasSubstr("config.window_stride: leaves gaps"));
}

}  // namespace
}  // namespace omnirt::testing
