// What requests with a ControlNet of Z-Image are held to before any weight is read; the images are
// in goldens_test.cpp.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest z_image_control(const std::string& name) {
  return folder_request(source_path("tests/goldens/control/z_image/" + name));
}

std::string network(const std::string& name) {
  return source_path("tests/goldens/networks/" + name).string();
}

std::vector<Finding> errors_of(const GenerateRequest& request) {
  return engine().check(request, {}).errors;
}

TEST(ZImageControlNets, TakeTheGoldensRequestsAndTheReferencesScale) {
  for (const char* name : {"one", "shared_refiner", "own_refiner", "inpaint_own_refiner"})
    EXPECT_THAT(errors_of(z_image_control(name)), IsEmpty()) << name;
  const Proposal proposal = engine().check(z_image_control("one"), {});
  EXPECT_EQ(proposal.config.find("controlnet_conditioning_scale")->value, 0.75);
}

TEST(ZImageControlNets, OfAnotherModelAreRefusedByName) {
  GenerateRequest request = z_image_control("one");
  request.components["controlnet"] = network("qwen_image_controlnet");
  EXPECT_THAT(errors_of(request), about("components.controlnet", "cannot be used here"));
  request = z_image_control("one");
  request.components["controlnet"] = {network("z_image_controlnet"), network("z_image_controlnet")};
  request.inputs["control_image"] = {request.inputs["control_image"],
                                     request.inputs["control_image"]};
  EXPECT_FALSE(errors_of(request).empty());
  request = z_image_control("one");
  request.components["transformer"] = network("z_image_transformer_rare_options");
  EXPECT_THAT(errors_of(request), about("components.controlnet", "hints to 3 blocks"));
}

TEST(ZImageControlNets, AndTheirImagesAreGivenTogether) {
  GenerateRequest request = z_image_control("one");
  request.components.erase("controlnet");
  EXPECT_THAT(errors_of(request), about("inputs.control_image", "a ControlNet reads it"));
  request = z_image_control("one");
  request.inputs.erase("control_image");
  EXPECT_THAT(errors_of(request), about("inputs.control_image", "missing"));
}

TEST(ZImageControlNets, LeaveTheImageAloneAtScaleZero) {
  GenerateRequest with = z_image_control("own_refiner"), without = with;
  with.config["controlnet_conditioning_scale"] = 0.0;
  without.components.erase("controlnet");
  without.inputs.erase("control_image");
  without.config.erase("controlnet_conditioning_scale");
  EXPECT_TRUE(run(with).image.equal(run(without).image));
}

TEST(ZImageControlNets, GiveAnImageTheSameHintsInAnyBatch) {
  GenerateRequest request = z_image_control("one");
  const Tensor together = run(request).image;
  for (const int64_t rows : {1, 3}) {
    request.config["max_batch_rows"] = rows;
    EXPECT_GT(psnr(run(request).image, together, 1.0), 80) << rows;
  }
}

// The reference has no such pipelines: the usual ones, with the ControlNet's hints.
TEST(ZImageControlNets, GoWithTasksThatBeginFromAnImage) {
  GenerateRequest request = z_image_control("one");
  request.task = "image2image";
  request.inputs["image"] = source_path("tests/goldens/pipelines/inputs/image.png").string();
  request.config["strength"] = 0.5;
  GenerateRequest without = request;
  without.config["controlnet_conditioning_scale"] = 0.0;
  EXPECT_LT(psnr(run(request).image, run(without).image, 1.0), 60);
}

}  // namespace
}  // namespace omnirt::testing
