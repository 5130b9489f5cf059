// What requests with a ControlNet for inpainting, a control image in context or entities of
// Qwen-Image are held to; the images are in goldens_test.cpp.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "io/safetensors_writer.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest qwen_run(const std::string& name) {
  return folder_request(source_path("tests/goldens/control/qwen_image/" + name));
}

std::string input(const std::string& name) {
  return source_path("tests/goldens/control/inputs/" + name).string();
}

std::vector<Finding> errors_of(const GenerateRequest& request) {
  return engine().check(request, {}).errors;
}

TEST(QwenImageControls, TakeTheGoldensRequests) {
  for (const char* name : {"inpaint", "context", "entities", "entities_on_negative", "blockwise",
                           "blockwise_two", "blockwise_inpaint"})
    EXPECT_THAT(errors_of(qwen_run(name)), IsEmpty()) << name;
}

// It is not the image of a ControlNet, but the one that is inpainted, that it reads.
TEST(QwenImageControls, AControlNetForInpaintingWantsImageAndMask) {
  GenerateRequest request = qwen_run("inpaint");
  request.inputs.erase("mask");
  request.task = "";
  EXPECT_THAT(errors_of(request), about("encode_masked_control"));
  request = qwen_run("one");
  request.components["controlnet"] =
      source_path("tests/goldens/networks/qwen_image_controlnet_inpaint").string();
  EXPECT_THAT(errors_of(request), about("inputs.image"));
}

// DiffSynth-Studio's, which come as one file.
std::string blockwise(const std::string& name = "") {
  return source_path("tests/goldens/networks/qwen_image_blockwise" + name + "/model.safetensors")
      .string();
}

TEST(QwenImageControls, BlockwiseOnesAreFilesOfQwenImage) {
  GenerateRequest request = folder_request(source_path("tests/goldens/control/flux/one"));
  request.components["controlnet"] = blockwise();
  EXPECT_THAT(errors_of(request),
              about("components.controlnet", "holds a QwenImageBlockWiseControlNet"));
  request = qwen_run("blockwise_inpaint");
  request.inputs.erase("mask");
  request.task = "";
  EXPECT_THAT(errors_of(request), about("encode_masked_control"));
}

// One looks at what each block of the transformer made, the others give what they add before.
TEST(QwenImageControls, BlockwiseOnesGoWithTheirOwnKindAlone) {
  GenerateRequest request = qwen_run("blockwise_two");
  const std::string other = source_path("tests/goldens/networks/qwen_image_controlnet").string();
  request.components["controlnet"] = Json::array({blockwise(), other});
  EXPECT_THAT(errors_of(request), about("components.controlnet_1", "go with no others"));
  request.components["controlnet"] = Json::array({other, blockwise()});
  EXPECT_THAT(errors_of(request), about("components.controlnet_1", "go with no others"));
}

TEST(QwenImageControls, BlockwiseOnesMustLookAtAllBlocks) {
  TemporaryFolder folder;
  const std::array<float, 16> values{};
  auto view = [&](const char* name, std::vector<int64_t> shape) {
    return io::TensorView{name, io::Dtype::f32, std::move(shape), std::as_bytes(std::span(values))};
  };
  // As wide as the model's tokens, and of no block but the first.
  const int64_t dim = 1;
  const std::array<io::TensorView, 2> tensors{view("img_in.weight", {dim, 16}),
                                              view("controlnet_blocks.0.x_rms.weight", {16})};
  io::write_safetensors(folder.file("model.safetensors"), tensors, {});
  GenerateRequest request = qwen_run("blockwise");
  request.components["controlnet"] = folder.file("model.safetensors");
  EXPECT_THAT(errors_of(request), about("components.controlnet", "width of tokens is 1"));
}

TEST(QwenImageControls, BlockwiseOnesLeaveNoStepOut) {
  GenerateRequest request = qwen_run("blockwise");
  request.config["cache"] = "first_block";
  EXPECT_THAT(errors_of(request), about("config.cache", "ControlNet"));
}

// Each row's hints are made of its own tokens.
TEST(QwenImageControls, BlockwiseOnesGiveAnImageTheSameInAnyBatch) {
  GenerateRequest request = qwen_run("blockwise");
  const Tensor together = run(request).image;
  for (const int64_t rows : {1, 3}) {
    request.config["max_batch_rows"] = rows;
    request.config["level"] = "eager";  // below which no other level would hide a failure
    EXPECT_GT(psnr(run(request).image, together, 1.0), 60) << rows;
  }
}

TEST(QwenImageControls, InContextGoWithNoControlNet) {
  GenerateRequest request = qwen_run("one");
  request.inputs["context_image"] = input("edges.png");
  EXPECT_THAT(errors_of(request), about("inputs.context_image", "ControlNet"));
}

TEST(QwenImageControls, InContextGiveAnImageTheSameInAnyBatch) {
  GenerateRequest request = qwen_run("context");
  const Tensor together = run(request).image;
  for (const int64_t rows : {1, 3}) {
    request.config["max_batch_rows"] = rows;
    request.config["level"] = "eager";  // below which no other level would hide a failure
    EXPECT_GT(psnr(run(request).image, together, 1.0), 60) << rows;
  }
}

TEST(QwenImageEntities, AndTheirMasksAreGivenTogether) {
  GenerateRequest request = qwen_run("entities");
  request.inputs.erase("entity_masks");
  EXPECT_THAT(errors_of(request), about("inputs.entity_masks"));
  request = qwen_run("entities");
  request.inputs["entity_masks"] = Json::array({request.inputs["entity_masks"][0]});
  EXPECT_THAT(errors_of(request), about("inputs.entity_masks", "2 entity_prompts"));
}

TEST(QwenImageEntities, GoWithNoControlImages) {
  GenerateRequest request = qwen_run("entities");
  request.inputs["context_image"] = input("edges.png");
  EXPECT_THAT(errors_of(request), about("inputs.context_image", "do not go"));
  request = qwen_run("one");
  request.inputs["entity_prompts"] = Json::array({"the sea"});
  request.inputs["entity_masks"] = Json::array({input("left.png")});
  EXPECT_THAT(errors_of(request), about("components.controlnet", "do not go"));
}

// Texts of other lengths are filled up, and what fills them up must not be seen.
TEST(QwenImageEntities, GiveEachImageOfABatchItsOwn) {
  GenerateRequest both = qwen_run("entities");
  both.config["num_images_per_prompt"] = 1;
  both.inputs["prompt"] = Json::array({"the sea", "a small red apple and all the people"});
  const Tensor together = run(both).image;
  GenerateRequest one = both;
  one.inputs["prompt"] = both.inputs["prompt"][0];
  EXPECT_GT(psnr(run(one).image, together.narrow(0, 0, 1), 1.0), 80);
}

// The two have one text, and places of other numbers of tokens.
TEST(QwenImageEntities, GoWithANegativePromptThatIsThePrompt) {
  GenerateRequest request = qwen_run("entities");
  request.inputs["negative_prompt"] = request.inputs["prompt"];
  const Tensor together = run(request).image;
  request.config["max_batch_rows"] = 1;
  EXPECT_GT(psnr(run(request).image, together, 1.0), 60);
}

TEST(QwenImageEntities, ComputeTheSameWithPredictedSteps) {
  GenerateRequest request = qwen_run("entities");
  request.config["cache"] = "first_block";
  request.config["cache_threshold"] = 0.0;
  EXPECT_GT(psnr(run(request).image, run(qwen_run("entities")).image, 1.0), 80);
}

}  // namespace
}  // namespace omnirt::testing
