// Guiders in whole runs: what they change, and what they refuse.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;

const char* const places = "mid,down_blocks.1";

GenerateRequest guided(Json guider) {
  GenerateRequest request;
  request.model = source_path("tests/goldens/pipelines/sd15/model").string();
  request.inputs = {{"prompt", "a red apple"}, {"negative_prompt", "gray"}};
  request.config = {{"num_inference_steps", 2}, {"seed", 7}};
  request.guider = std::move(guider);
  return request;
}

std::string told(const GenerateRequest& request) {
  std::string text;
  for (const Finding& finding : engine().check(request).errors)
    text += finding.field + " " + finding.value + ": " + finding.message + "; " + finding.way_out +
            "\n";
  return text;
}

// Peers' hooks attach to nothing, or to nothing that counts.
TEST(Guiders, EveryDisturbanceChangesTheImage) {
  Json cfg = {{"type", "cfg"}, {"guidance_scale", 5.0}};
  std::vector<Tensor> pictures{run(guided(cfg)).image};
  for (Json guider : std::vector<Json>{
           {{"type", "pag"}, {"pag_applied_layers", places}},
           {{"type", "seg"}, {"seg_applied_layers", places}},
           {{"type", "seg"}, {"seg_applied_layers", places}, {"seg_blur_sigma", 0.5}},
           {{"type", "slg"}, {"slg_layers", places}, {"slg_start", 0}, {"slg_stop", 1}},
           {{"type", "slg"},
            {"slg_layers", places},
            {"slg_start", 0},
            {"slg_stop", 1},
            {"slg_skip", "attention"}},
           {{"type", "slg"},
            {"slg_layers", places},
            {"slg_start", 0},
            {"slg_stop", 1},
            {"slg_skip", "feed_forward"}}}) {
    guider["guidance_scale"] = 5.0;
    Tensor picture = run(guided(guider)).image;
    for (const Tensor& other : pictures) EXPECT_LT(psnr(picture, other, 1.0), 80) << guider.dump();
    pictures.push_back(picture);
  }
}

TEST(Guiders, RowsOfDifferentPlansGiveTheSameInOneBatchAndAlone) {
  GenerateRequest request = guided({{"type", "pag"}, {"pag_applied_layers", places}});
  request.config["num_images_per_prompt"] = 2;
  Tensor together = run(request).image;
  request.config["max_batch_rows"] = 1;
  EXPECT_GT(psnr(run(request).image, together, 1.0), 100);
}

TEST(Guiders, TheStepCacheKeepsDisturbedRowsApart) {
  Json guider = {{"type", "pag"}, {"pag_applied_layers", places}};
  GenerateRequest every_step = guided(guider), shared = guided(guider);
  shared.config["cache"] = "deep";
  shared.config["cache_interval"] = 1;
  EXPECT_TRUE(at::equal(run(every_step).image, run(shared).image));
}

TEST(Guiders, APlaceThatTheNetworkDoesNotHaveIsAnErrorWithTheNearestName) {
  std::string text = told(guided({{"type", "pag"}, {"pag_applied_layers", "mid,up_bloks.1"}}));
  EXPECT_THAT(text, HasSubstr("guider.pag_applied_layers up_bloks.1"));
  EXPECT_THAT(text, HasSubstr("did you mean 'up_blocks.1'?"));
  EXPECT_THAT(told(guided({{"type", "slg"}, {"slg_layers", {7, 8}}})),
              HasSubstr("UNet2DConditionModel has no such place"));
  // It has this block, but no attention in it.
  EXPECT_THAT(told(guided({{"type", "seg"}, {"seg_applied_layers", "down_blocks.3"}})),
              HasSubstr("guider.seg_applied_layers down_blocks.3"));
}

TEST(Guiders, AutoGuidanceNeedsItsNetworkAndOthersRefuseIt) {
  GenerateRequest request = guided({{"type", "autoguidance"}});
  EXPECT_THAT(told(request), HasSubstr("give components.guide_network a folder"));
  request.components["guide_network"] =
      source_path("tests/goldens/pipelines/outdated/model/unet").string();
  EXPECT_EQ(told(request), "");
  request.guider = {{"type", "pag"}};
  EXPECT_THAT(told(request), HasSubstr("set guider.type=autoguidance"));
}

TEST(Guiders, AutoGuidanceRefusesANetworkThatTakesOtherTensors) {
  GenerateRequest request = guided({{"type", "autoguidance"}});
  request.components["guide_network"] =
      source_path("tests/goldens/pipelines/inpaint9/model/unet").string();
  EXPECT_THAT(told(request), HasSubstr("components.guide_network.in_channels 9"));
  request.components["guide_network"] =
      source_path("tests/goldens/pipelines/sd15/model/vae").string();
  EXPECT_THAT(told(request), HasSubstr("components.guide_network"));
}

TEST(Guiders, AControlNetRefusesAWeakerNetworkOfOtherLayers) {
  GenerateRequest request = guided({{"type", "autoguidance"}});
  request.inputs["control_image"] = source_path("tests/goldens/control/inputs/edges.png").string();
  request.components["controlnet"] =
      source_path("tests/goldens/control/parts/controlnet_a").string();
  request.components["guide_network"] =
      source_path("tests/goldens/pipelines/outdated/model/unet").string();
  EXPECT_THAT(told(request), HasSubstr("that components.controlnet acts on"));
  request.components["guide_network"] =
      source_path("tests/goldens/pipelines/sd15/model/unet").string();
  EXPECT_EQ(told(request), "");
}

TEST(Guiders, TheWeakerNetworkIsToldInTheReport) {
  GenerateRequest request = guided({{"type", "autoguidance"}});
  request.components["guide_network"] =
      source_path("tests/goldens/pipelines/outdated/model/unet").string();
  std::set<std::string> placed;
  for (const auto& each : run(request).report.device_placement) placed.insert(each.component);
  EXPECT_TRUE(placed.contains("guide_network"));
}

}  // namespace
}  // namespace omnirt::testing
