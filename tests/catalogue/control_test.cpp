// What requests with ControlNets, T2I-Adapters and IP-Adapters are held to before any weight is
// read; the images are in goldens_test.cpp.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One of tests/goldens/control/sd15.
GenerateRequest control(const std::string& name) {
  return folder_request(source_path("tests/goldens/control/sd15/" + name));
}

std::string part(const std::string& name) {
  return source_path("tests/goldens/control/parts/" + name).string();
}

std::vector<Finding> errors_of(const GenerateRequest& request) {
  return engine().check(request, {}).errors;
}

auto finding(const std::string& field, const std::string& what) {
  return Contains(AllOf(Field(&Finding::field, field), Field(&Finding::message, HasSubstr(what))));
}

TEST(Control, TakesTheGoldensRequests) {
  for (const char* name : {"controlnet_two", "t2i_two", "ip_masks", "ip_blocks", "ip_two"})
    EXPECT_THAT(errors_of(control(name)), IsEmpty()) << name;
}

TEST(Control, SaysHowToGiveTheControlNetThatAControlImageWants) {
  GenerateRequest request = control("controlnet");
  request.components.erase("controlnet");
  auto errors = errors_of(request);
  EXPECT_THAT(errors, finding("inputs.control_image", "a ControlNet reads it"));
  EXPECT_THAT(errors, Contains(Field(&Finding::way_out, HasSubstr("components.controlnet"))));
}

TEST(Control, WantsAnImageForEachPart) {
  for (const auto& [name, input] : {std::pair{"controlnet", "control_image"},
                                    {"t2i_full", "adapter_image"},
                                    {"ip_base", "ip_adapter_image"}}) {
    GenerateRequest request = control(name);
    request.inputs.erase(input);
    EXPECT_THAT(errors_of(request), finding(std::string("inputs.") + input, "missing")) << name;
  }
}

TEST(Control, CountsImagesAndControlNets) {
  GenerateRequest request = control("controlnet_two");
  request.components["controlnet"] = part("controlnet_a");
  EXPECT_THAT(errors_of(request), finding("inputs.control_image_1", "only 1"));
  request = control("controlnet_two");
  request.inputs["control_image"] = request.inputs["control_image"][0];
  EXPECT_THAT(errors_of(request), finding("inputs.control_image_1", "missing"));
}

TEST(Control, TakesAtMostFour) {
  GenerateRequest request = control("controlnet");
  request.components["controlnet"] = Json(std::vector<std::string>(5, part("controlnet_a")));
  EXPECT_THAT(errors_of(request), finding("components.controlnet", "more than this model takes"));
}

TEST(Control, RefusesAControlNetOfAnotherFamilyByName) {
  GenerateRequest request = control("controlnet");
  request.components["controlnet"] = source_path("tests/goldens/networks/controlnet_sd1").string();
  EXPECT_THAT(errors_of(request), finding("components.controlnet", "cross_attention_dim 24"));
}

TEST(Control, RefusesAPartOfAnotherKind) {
  GenerateRequest request = control("controlnet");
  request.components["controlnet"] = part("t2i_full");
  EXPECT_THAT(errors_of(request),
              finding("components.controlnet", "where a ControlNetModel is expected"));
  request.components["controlnet"] = part("ip_base.safetensors");
  EXPECT_THAT(errors_of(request),
              finding("components.controlnet", "where a ControlNetModel is expected"));
}

TEST(Control, RefusesAFileThatIsNoIPAdapter) {
  GenerateRequest request = control("ip_base");
  request.components["ip_adapter"] = part("t2i_full/diffusion_pytorch_model.safetensors");
  EXPECT_THAT(errors_of(request),
              finding("components.ip_adapter", "an IP-Adapter (whose tensors are named"));
}

TEST(Control, WantsTheImageEncoderThatTheIPAdapterWasMadeWith) {
  GenerateRequest request = control("ip_base");
  request.components["image_encoder"] = source_path("tests/goldens/networks/vision_plain").string();
  EXPECT_THAT(errors_of(request), finding("components.image_encoder", "no projection"));
  request.components.erase("image_encoder");
  EXPECT_THAT(errors_of(request), finding("model.image_encoder", "no such component"));
}

TEST(Control, WantsAMaskForEachImageOrNone) {
  GenerateRequest request = control("ip_masks");
  request.inputs["ip_adapter_masks"].erase(1);
  request.config["ip_adapter_scale"] = 1.0;
  EXPECT_THAT(errors_of(request), finding("inputs.ip_adapter_masks", "2 images"));
}

TEST(Control, ChecksScalesAndTheirNumber) {
  auto with = [](const char* name, const char* key, const Json& value) {
    GenerateRequest request = control(name);
    request.config[key] = value;
    return errors_of(request);
  };
  const char* scale = "controlnet_conditioning_scale";
  EXPECT_THAT(with("controlnet", scale, "strong"), finding("config." + std::string(scale), ""));
  EXPECT_THAT(with("controlnet", scale, Json::array({1, 2})),
              finding("config." + std::string(scale), "1 of them"));
  EXPECT_THAT(with("controlnet", "control_guidance_end", 1.5),
              finding("config.control_guidance_end", "taken"));
  EXPECT_THAT(with("ip_base", "ip_adapter_scale", {{"down", {{"block_3", 1.0}}}}),
              finding("config.ip_adapter_scale", "no attention to the text"));
  EXPECT_THAT(with("ip_base", "ip_adapter_scale", {{"left", 1.0}}),
              finding("config.ip_adapter_scale", "no such part"));
  EXPECT_THAT(with("ip_base", "ip_adapter_scale", Json::array({0.5, 0.5})),
              finding("config.ip_adapter_scale", "1 IP-Adapters"));
}

std::string prepared(const std::string& name) {
  return source_path("tests/goldens/preprocess/" + name + ".png").string();
}

// The image is the one that the prepared image makes: OpenCV's (tools/goldens/preprocess.py).
TEST(Control, ReadsItsImagePreprocessed) {
  struct Case {
    const char *component, *input, *key, *folder;
  };
  for (const Case& each :
       {Case{"controlnet", "control_image", "control_preprocess", "controlnet_a"},
        Case{"t2i_adapter", "adapter_image", "adapter_preprocess", "t2i_full"}}) {
    SCOPED_TRACE(each.component);
    GenerateRequest request =
        control(each.input == std::string("control_image") ? "controlnet" : "t2i_full");
    request.config["width"] = 96;
    request.config["height"] = 64;
    request.inputs[each.input] = prepared("canny_low");
    Tensor expected = run(request).image;
    request.inputs[each.input] = prepared("input");
    request.config[each.key] = {{"type", "canny"}, {"low", 20}, {"high", 60}};
    EXPECT_TRUE(run(request).image.equal(expected));
    request.config[each.key] = "none";
    EXPECT_FALSE(run(request).image.equal(expected));
  }
}

TEST(Control, PreparesEachOfSeveralImagesForItself) {
  GenerateRequest request = control("controlnet_two");
  request.config["width"] = 96;
  request.config["height"] = 64;
  request.inputs["control_image"] = Json::array({prepared("canny"), prepared("input")});
  Tensor expected = run(request).image;
  request.inputs["control_image"] = Json::array({prepared("input"), prepared("input")});
  request.config["control_preprocess"] = Json::array({"canny", "none"});
  EXPECT_TRUE(run(request).image.equal(expected));
}

TEST(Control, RefusesWhatItCannotPrepareAnImageBy) {
  GenerateRequest request = control("controlnet_two");
  request.config["control_preprocess"] = "cany";
  EXPECT_THAT(errors_of(request), finding("config.control_preprocess", "no kind of preprocessing"));
  request.config["control_preprocess"] = Json::array({"canny"});
  EXPECT_THAT(errors_of(request), finding("config.control_preprocess", "there are 2 of them"));
  request.config["control_preprocess"] = Json::array({"canny", {{"type", "canny"}, {"low", -1}}});
  EXPECT_THAT(errors_of(request), finding("config.control_preprocess[1].low", "out of range"));
}

TEST(Control, LeavesTheImageAloneAtScaleZero) {
  GenerateRequest without = control("controlnet");
  without.components.erase("controlnet");
  without.inputs.erase("control_image");
  without.config.update({{"width", 64}, {"height", 64}});
  Tensor plain = run(without).image;
  GenerateRequest with = control("controlnet");
  with.config["controlnet_conditioning_scale"] = 0.0;
  EXPECT_TRUE(run(with).image.equal(plain));
}

TEST(Control, GivesEachImageOfABatchAsItWouldBeAlone) {
  for (const char* name : {"controlnet_scale", "ip_scale"}) {
    GenerateRequest batch = control(name);
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

TEST(Control, LoadsOnlyThePartsThatTakeTurnsAndKeepsThemThroughTheLoop) {
  Plan plan = engine().check(control("controlnet"), {}).plan;
  EXPECT_EQ(plan.last_use.at("controlnet"), plan.last_use.at("unet"));
  auto components = plan.components;
  EXPECT_THAT(components, ::testing::UnorderedElementsAre("scheduler", "tokenizer", "text_encoder",
                                                          "unet", "vae", "controlnet"));
}

}  // namespace
}  // namespace omnirt::testing
