// Text to image in two passes: files against diffusers' (tools/goldens/hires.py, hires_flow.py,
// hires_built.py),
// split runs, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "catalogue/support.hpp"
#include "io/compare.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

fs::path goldens() {
  return source_path("tests/goldens/hires");
}

// The calls of both passes, each along its own schedule: timesteps of 1000 to 1e-6.
void expect_walk(const std::vector<double>& timesteps, const fs::path& golden) {
  const Tensor expected = read_tensors(golden / "golden.safetensors").at("timesteps");
  ASSERT_EQ(static_cast<int64_t>(timesteps.size()), expected.numel());
  for (size_t i = 0; i < timesteps.size(); ++i)
    EXPECT_NEAR(timesteps[i], expected[static_cast<int64_t>(i)].item<double>(), 1e-3) << i;
}

class Hires : public ::testing::TestWithParam<std::string> {};

TEST_P(Hires, EqualsTheReference) {
  const fs::path golden = goldens() / GetParam();
  TemporaryFolder folder;
  GenerateRequest request = folder_request(golden);
  request.config["output"] = folder.file("made_{index}.png");
  const Outcome outcome = run(request);
  std::vector<io::Image> made;
  for (const ArtifactReport& artifact : outcome.report.artifacts)
    made.push_back(io::read_image(artifact.path));
  ASSERT_FALSE(made.empty());
  for (size_t i = 0; i < made.size(); ++i) {
    SCOPED_TRACE(i);
    const io::Image expected = io::read_image(
        golden / (made.size() == 1 ? "image.png" : "image_" + std::to_string(i) + ".png"));
    ASSERT_EQ(made[i].width, expected.width);
    ASSERT_EQ(made[i].height, expected.height);
    EXPECT_GE(io::psnr(made[i], expected), 60);
  }
  if (fs::exists(golden / "golden.safetensors")) expect_walk(outcome.timesteps, golden);
}

INSTANTIATE_TEST_SUITE_P(Goldens, Hires, ::testing::ValuesIn(names_in(goldens())),
                         [](const auto& info) { return info.param; });

// Wherever it is cut: the second pass's size is not the first's, and each has its schedule.
TEST(Hires, IsTheSameImageInASplitRun) {
  for (const char* name :
       {"sd15_latent", "sd15_two_images", "sd15_own_sides", "sd15_controlnet_two", "sdxl_latent",
        "flux2_latent", "z_image_latent", "krea2_latent", "sana_latent", "flux3_latent"}) {
    const auto whole = written_images(folder_request(goldens() / name));
    const bool by_image = std::string(name).find("_two") != std::string::npos;
    for (const char* block : {"start_noise", "denoise", by_image ? "hires_images" : "hires_latents",
                              "denoise_hires", "decode_hires"}) {
      SCOPED_TRACE(std::string(name) + " cut after " + block);
      TemporaryFolder folder;
      GenerateRequest first = folder_request(goldens() / name), second;
      first.config["stop_after"] = block;
      first.config["state"] = folder.file("state.safetensors");
      run(first);
      second.config["resume"] = folder.file("state.safetensors");
      EXPECT_EQ(written_images(second), whole);
    }
  }
}

// Weights that are moved come back for the second pass.
TEST(Hires, IsTheSameImageHoweverWeightsComeAndGo) {
  for (const char* name :
       {"krea2_turbo_latent", "flux3_flow_map_lanczos", "qwen_image_21_latent", "sana_lanczos"}) {
    const auto resident = written_images(folder_request(goldens() / name));
    for (const char* offload : {"component", "group", "leaf"}) {
      SCOPED_TRACE(std::string(name) + " by " + offload);
      GenerateRequest moved = folder_request(goldens() / name);
      moved.config["offload"] = offload;
      EXPECT_EQ(written_images(moved), resident);
    }
  }
}

// The second pass through images is an image2image of the first pass's file, enlarged: noise begins
// again from the same seed.
TEST(Hires, IsAnImage2ImageOfTheEnlargedImage) {
  TemporaryFolder folder;
  GenerateRequest both = folder_request(goldens() / "sd15_nearest_image"), first = both;
  both.config["hires_upscaler"] = "lanczos";
  for (const char* key : {"hires_scale", "hires_upscaler"}) first.config.erase(key);
  first.config["output"] = folder.file("small.png");
  run(first);
  GenerateRequest second = first;
  second.task = "image2image";
  second.inputs["image"] = folder.file("small.png");
  second.config["width"] = second.config["height"] = 96;
  second.config["strength"] = 0.7;
  EXPECT_EQ(written_images(second), written_images(both));
}

TEST(Hires, IsOneRunWithTheStepsOfBothPasses) {
  GenerateRequest request = folder_request(goldens() / "sd15_own_sides");
  request.config["scheduler"] = "euler";
  Outcome outcome = run(request);
  // Four of the first pass, and half of seven of the second.
  EXPECT_EQ(outcome.report.denoise_steps_ms.size(), 4U + 3U);
  EXPECT_EQ(outcome.report.artifacts.front().width, 104);
  EXPECT_EQ(outcome.report.artifacts.front().height, 80);
}

TEST(Hires, ShowsTheStepsOfBothPassesInPreviewsOfTheirOwn) {
  TemporaryFolder folder;
  GenerateRequest request = folder_request(goldens() / "sd15_own_sides");
  request.config["scheduler"] = "euler";
  request.config["preview_every"] = 1;
  request.config["preview_dir"] = folder.file("steps");
  request.config["preview_name"] = "{step}.png";
  run(request);
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder.file("steps")))
    files.push_back(entry.path().filename().string());
  std::ranges::sort(files);
  EXPECT_EQ(files, (std::vector<std::string>{"001.png", "002.png", "003.png", "004.png", "005.png",
                                             "006.png", "007.png"}));
  EXPECT_EQ(io::probe_image(folder.file("steps/004.png")).width, 64);
  EXPECT_EQ(io::probe_image(folder.file("steps/005.png")).width, 104);
}

TEST(Hires, TakesTheUpscalersNamesOfA1111) {
  GenerateRequest request = folder_request(goldens() / "sd15_nearest");
  const auto expected = written_images(request);
  for (const char* name : {"Latent (nearest)", "latent_nearest", "LATENT-NEAREST"}) {
    request.config["hires_upscaler"] = name;
    EXPECT_EQ(written_images(request), expected) << name;
  }
}

TEST(Hires, TakesAnUpscalersFileUnderTheSameKey) {
  GenerateRequest request = folder_request(goldens() / "sd15_network"), by_key = request;
  by_key.config["hires_upscaler"] = by_key.components["hires_upscaler"];
  by_key.components.clear();
  EXPECT_EQ(written_images(by_key), written_images(request));
}

std::vector<std::string> refused_fields(const GenerateRequest& request) {
  std::vector<std::string> fields;
  try {
    run(request);
  } catch (const InvalidRequest& refused) {
    for (const Finding& finding : refused.findings()) fields.push_back(finding.field);
  }
  return fields;
}

TEST(Hires, IsRefusedBesideWhatHasNoSecondPass) {
  const GenerateRequest base = folder_request(goldens() / "sdxl_latent");
  struct Case {
    const char* key;
    Json value;
  };
  for (const Case& each :
       {Case{"window_size", 4}, Case{"denoising_end", 0.5}, Case{"output_type", "latent"},
        Case{"timesteps", Json::array({999, 700, 400, 100})}}) {
    GenerateRequest request = base;
    request.config[each.key] = each.value;
    EXPECT_THAT(refused_fields(request), ::testing::Contains(std::string("config.") + each.key));
  }
}

TEST(Hires, IsRefusedWhereThereIsOnePass) {
  GenerateRequest request;
  request.inputs["prompt"] = "a red apple";
  request.config["hires_scale"] = 2;
  request.inputs["image"] = source_path("tests/goldens/pipelines/inputs/image.png").string();
  for (const char* model :
       {"sd15", "sdxl", "flux2_klein", "flux_dev", "chroma", "z_image", "sd3", "qwen_image",
        "qwen_image_21", "qwen_image_edit", "qwen_image_layered", "flux3_klein", "flux_kontext"}) {
    request.model = source_path("tests/goldens/pipelines/" + std::string(model) + "/model");
    EXPECT_EQ(refused_fields(request), std::vector<std::string>{"config.hires_scale"}) << model;
  }
}

TEST(Hires, IsRefusedSidesAndStrengthsThatCannotBe) {
  GenerateRequest request = folder_request(goldens() / "sd15_own_sides");
  request.config["hires_width"] = 100;
  EXPECT_EQ(refused_fields(request), std::vector<std::string>{"config.hires_width"});
  request.config["hires_width"] = 104;
  request.config.erase("hires_height");
  EXPECT_EQ(refused_fields(request), std::vector<std::string>{"config.hires_height"});
  request = folder_request(goldens() / "sd15_latent");
  request.config["hires_strength"] = 0.1;
  EXPECT_EQ(refused_fields(request), std::vector<std::string>{"config.hires_strength"});
  request.config["hires_strength"] = 0.7;
  request.config["hires_upscaler"] = "latnt";
  EXPECT_EQ(refused_fields(request), std::vector<std::string>{"components.hires_upscaler"});
}

// The second pass's tokens have positions of the transformer's table, too.
TEST(Hires, IsNoLargerThanTheTransformerHasPositionsFor) {
  GenerateRequest request = folder_request(goldens() / "sd3_latent");
  request.config["hires_scale"] = 2;  // 128 x 96 pixels, and the table ends at 96
  EXPECT_EQ(refused_fields(request), std::vector<std::string>{"config.hires_width"});
  request = folder_request(goldens() / "qwen_image_latent");
  request.config.erase("hires_scale");
  request.config["hires_width"] = request.config["hires_height"] = 72;
  EXPECT_EQ(refused_fields(request),
            (std::vector<std::string>{"config.hires_width", "config.hires_height"}));
}

TEST(Hires, IsRefusedNextToAControlNetOfTokensByThePartsName) {
  for (const char* run_of :
       {"flux/one", "flux/ip_one", "sd3/one", "z_image/one", "qwen_image/one", "sana/one"}) {
    GenerateRequest request = folder_request(source_path("tests/goldens/control") / run_of);
    request.config["hires_scale"] = 1.5;
    EXPECT_EQ(refused_fields(request), std::vector<std::string>{"config.hires_scale"}) << run_of;
  }
}

// Its images have an alpha channel.
TEST(Hires, OfQwenImage21EnlargesLatentsAlone) {
  GenerateRequest request = folder_request(goldens() / "qwen_image_21_latent");
  for (const char* by : {"lanczos", "nearest"}) {
    request.config["hires_upscaler"] = by;
    EXPECT_EQ(refused_fields(request), std::vector<std::string>{"config.hires_upscaler"}) << by;
  }
  request.config.erase("hires_upscaler");
  request.components["hires_upscaler"] =
      source_path("tests/goldens/upscalers/rrdb_x2plus/model.safetensors").string();
  EXPECT_EQ(refused_fields(request), std::vector<std::string>{"components.hires_upscaler"});
}

// A distilled model's levels are as many in both passes.
TEST(Hires, OfAModelWithLevelsOfItsOwnHasThemInBothPasses) {
  GenerateRequest request = folder_request(goldens() / "qwen_image_21_turbo_latent");
  request.config["hires_steps"] = 6;
  EXPECT_FALSE(refused_fields(request).empty());
  request.config.erase("hires_steps");
  request.config["sigmas"] = Json::array({1.0, 0.7, 0.5, 0.2});
  EXPECT_EQ(refused_fields(request), std::vector<std::string>{"config.sigmas"});
}

// Of sizes that PixArt's bins change, the second pass could not begin.
TEST(Hires, OfPixArtIsCountedInPatchesFromTheSizeThatTheFirstPassHas) {
  GenerateRequest request = folder_request(goldens() / "pixart_latent");
  request.config["hires_scale"] = 1.3;  // 83 pixels, of which 80 are whole patches
  EXPECT_EQ(run(request).report.artifacts.front().width, 80);
  request.config.erase("hires_scale");
  request.config["hires_width"] = request.config["hires_height"] = 72;
  EXPECT_EQ(refused_fields(request),
            (std::vector<std::string>{"config.hires_width", "config.hires_height"}));
  GenerateRequest binned;
  binned.model = source_path("tests/goldens/pipelines/pixart_alpha/model");
  binned.inputs["prompt"] = "a red apple";
  binned.config = {{"hires_scale", 1.5}, {"width", 64}, {"height", 64}};
  for (const char* model : {"pixart_alpha", "sana"}) {
    binned.model = source_path("tests/goldens/pipelines/" + std::string(model) + "/model");
    EXPECT_THAT(refused_fields(binned),
                ::testing::Contains(std::string("config.use_resolution_binning")))
        << model;
  }
}

}  // namespace
}  // namespace omnirt::testing
