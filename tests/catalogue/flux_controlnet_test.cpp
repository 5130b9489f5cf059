// What requests with ControlNets of FLUX.1 and its kin are held to before any weight is read; the
// images are in goldens_test.cpp.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "io/safetensors_writer.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

GenerateRequest flux_control(const std::string& name) {
  return folder_request(source_path("tests/goldens/control/flux/" + name));
}

std::string network(const std::string& name) {
  return source_path("tests/goldens/networks/" + name).string();
}

std::vector<Finding> errors_of(const GenerateRequest& request) {
  return engine().check(request, {}).errors;
}

TEST(FluxControlNets, TakeTheGoldensRequestsInTheModelsOwnSizesAndScales) {
  for (const char* name : {"one", "two", "union", "union_two", "pixels", "image2image", "inpaint"})
    EXPECT_THAT(errors_of(flux_control(name)), IsEmpty()) << name;
  GenerateRequest request = flux_control("one");
  request.config = Json::object();
  Proposal proposal = engine().check(request, {});
  EXPECT_THAT(proposal.errors, IsEmpty());
  EXPECT_EQ(proposal.config.find("guidance_scale")->value, 3.5);
  EXPECT_EQ(proposal.config.find("width")->value, 512);
  EXPECT_EQ(proposal.plan.last_use.at("controlnet"), proposal.plan.last_use.at("transformer"));
}

TEST(FluxControlNets, AndTheirImagesAreGivenTogether) {
  GenerateRequest request = flux_control("one");
  request.components.erase("controlnet");
  EXPECT_THAT(errors_of(request), about("inputs.control_image", "a ControlNet reads it"));
  request = flux_control("one");
  request.inputs.erase("control_image");
  EXPECT_THAT(errors_of(request), about("inputs.control_image", "missing"));
  request = flux_control("two");
  request.inputs["control_image"] = request.inputs["control_image"][0];
  EXPECT_THAT(errors_of(request), about("inputs.control_image_1", "missing"));
}

TEST(FluxControlNets, OfAnotherModelAreRefusedByName) {
  GenerateRequest request = flux_control("one");
  auto with = [&](const std::string& folder) {
    request.components["controlnet"] = network(folder);
    return errors_of(request);
  };
  EXPECT_THAT(with("controlnet_sd1"), about("components.controlnet", "FluxControlNetModel"));
  EXPECT_THAT(with("qwen_image_controlnet"), about("components.controlnet", "FluxControlNetModel"));
  request = folder_request(source_path("tests/goldens/control/qwen_image/one"));
  EXPECT_THAT(with("flux_controlnet"),
              about("components.controlnet", "QwenImageControlNetModel is expected"));
}

// Depth and Canny read a control image themselves, and Fill a masked one.
TEST(FluxControlNets, AreNotForModelsThatJoinSomethingToTheirLatents) {
  for (const char* model : {"flux_control", "flux_fill"}) {
    GenerateRequest request = flux_control("inpaint");
    request.components.erase("transformer");
    request.model =
        source_path(std::string("tests/goldens/pipelines/") + model + "/model").string();
    EXPECT_THAT(errors_of(request), about("components.controlnet", "takes no ControlNet")) << model;
  }
  GenerateRequest schnell = flux_control("one");
  schnell.components.erase("transformer");
  schnell.config.erase("guidance_scale");
  schnell.model = source_path("tests/goldens/pipelines/flux_schnell/model").string();
  EXPECT_THAT(errors_of(schnell), about("components.controlnet", "guidance scale"));
  schnell.components["controlnet"] = network("flux_controlnet_first");
  EXPECT_THAT(errors_of(schnell), IsEmpty());
}

TEST(FluxControlNets, OfSeveralKindsAreToldWhichOneTheirImageIs) {
  auto with = [](const char* name, const Json& mode) {
    GenerateRequest request = flux_control(name);
    request.config["control_mode"] = mode;
    if (mode.is_null()) request.config.erase("control_mode");
    return errors_of(request);
  };
  EXPECT_THAT(with("union", 0), IsEmpty());
  EXPECT_THAT(with("union", Json()), about("config.control_mode", "is a union"));
  for (const Json& wrong : {Json(5), Json(-1), Json(1.5), Json(1e30)})
    EXPECT_THAT(with("union", wrong), about("config.control_mode", "modes 0 to 4")) << wrong;
  EXPECT_THAT(with("one", 1), about("config.control_mode", "no union"));
  EXPECT_THAT(with("union_two", Json::array({0, 1, 2})), about("config.control_mode", "2 of them"));
  EXPECT_THAT(with("union_two", Json::array({0, Json()})),
              about("config.control_mode", "components.controlnet_1 is a union"));
  EXPECT_THAT(with("union_two", 2), IsEmpty());
  GenerateRequest both = flux_control("union_two");
  both.components["controlnet"] = {network("flux_controlnet_union"), network("flux_controlnet")};
  both.config["control_mode"] = Json::array({3, Json()});
  EXPECT_THAT(errors_of(both), IsEmpty());
  both.config["control_mode"] = 3;
  EXPECT_THAT(errors_of(both), about("config.control_mode", "no union"));
}

TEST(FluxControlNets, RefuseStepsThatLeaveOutBlocks) {
  for (const char* cache : {"first_block", "taylorseer"}) {
    GenerateRequest request = flux_control("one");
    request.config["cache"] = cache;
    EXPECT_THAT(errors_of(request), about("config.cache", "such steps leave out"));
  }
}

TEST(FluxControlNets, ChecksScalesAndTheirNumber) {
  GenerateRequest request = flux_control("two");
  request.config["controlnet_conditioning_scale"] = Json::array({1});
  EXPECT_THAT(errors_of(request), about("config.controlnet_conditioning_scale", "2 of them"));
  request = flux_control("two");
  request.config["control_guidance_end"] = 1.5;
  EXPECT_THAT(errors_of(request), about("config.control_guidance_end", "taken"));
}

TEST(FluxControlNets, LeaveTheImageAloneAtScaleZero) {
  GenerateRequest with = flux_control("pixels");
  with.config["controlnet_conditioning_scale"] = 0.0;
  GenerateRequest without = flux_control("pixels");
  without.components.erase("controlnet");
  without.inputs.erase("control_image");
  EXPECT_TRUE(run(with).image.equal(run(without).image));
}

// What is drawn for the control image is each image's own.
TEST(FluxControlNets, GiveEachImageOfABatchAsItWouldBeAlone) {
  for (const char* name : {"flux/one", "qwen_image/one", "sd3/one"}) {
    GenerateRequest batch =
        folder_request(source_path(std::string("tests/goldens/control/") + name));
    if (batch.inputs["prompt"].is_array()) batch.inputs["prompt"] = batch.inputs["prompt"][0];
    batch.config["num_images_per_prompt"] = 2;
    Tensor together = run(batch).image;
    ASSERT_EQ(together.size(0), 2);
    for (int64_t i = 0; i < 2; ++i) {
      GenerateRequest single = batch;
      single.config["num_images_per_prompt"] = 1;
      single.config["seed"] = batch.config["seed"].get<int64_t>() + i;
      EXPECT_GT(psnr(together.narrow(0, i, 1), run(single).image, 1.0), 80) << name << " " << i;
    }
  }
}

// Where conditions or images go through the transformer by themselves, each has its residuals.
TEST(FluxControlNets, GiveTheSameImageHoweverRowsAreBatched) {
  for (const char* name : {"flux/negative", "qwen_image/one", "sd3/one", "sd3/single"}) {
    GenerateRequest request =
        folder_request(source_path(std::string("tests/goldens/control/") + name));
    Tensor together = run(request).image;
    for (int64_t rows : {1, 3}) {
      request.config["max_batch_rows"] = rows;
      EXPECT_GT(psnr(run(request).image, together, 1.0), 80) << name << " " << rows;
    }
  }
}

// Residuals of different numbers are added block by block.
TEST(FluxControlNets, OfDifferentDepthsTakePartTogether) {
  GenerateRequest request = flux_control("two");
  request.components["controlnet"] = {network("flux_controlnet_first"), network("flux_controlnet")};
  Tensor one = run(request).image;
  request.components["controlnet"] = {network("flux_controlnet"), network("flux_controlnet_first")};
  for (const char* key :
       {"controlnet_conditioning_scale", "control_guidance_start", "control_guidance_end"})
    std::swap(request.config[key][0], request.config[key][1]);
  std::swap(request.inputs["control_image"][0], request.inputs["control_image"][1]);
  // The draws for the control images are in the other order; without them nothing would differ.
  EXPECT_GT(psnr(run(request).image, one, 1.0), 20);
}

// Its first blocks have the names of the transformer's.
TEST(FluxControlNets, AreLeftAsTheyAreByAdaptersThatNameNoComponent) {
  const TempFolder temp;
  const std::vector<float> numbers(size_t{2} * 36, 0.1F);
  std::vector<io::TensorView> views;
  for (const auto& [name, shape] : {std::pair{"lora_A", std::vector<int64_t>{2, 36}},
                                    {"lora_B", std::vector<int64_t>{36, 2}}}) {
    const std::string layer = "transformer_blocks.0.attn.to_q.";
    views.push_back(
        {layer + name + ".weight", io::Dtype::f32, shape, std::as_bytes(std::span(numbers))});
  }
  io::write_safetensors(temp.path() / "lora.safetensors", views);
  GenerateRequest request = flux_control("one");
  request.adapters = Json::array({{{"path", (temp.path() / "lora.safetensors").string()}}});
  const Outcome outcome = run(request);
  ASSERT_EQ(outcome.report.adapters.size(), 1U);
  EXPECT_THAT(outcome.report.adapters[0].layers, ElementsAre(Pair("transformer", 1)));
}

}  // namespace
}  // namespace omnirt::testing
