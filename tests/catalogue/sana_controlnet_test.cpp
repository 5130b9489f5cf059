// What requests with a ControlNet of Sana are held to before any weight is read; the images are in
// goldens_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "io/file.hpp"

namespace omnirt::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

GenerateRequest sana_control(const std::string& name = "one") {
  return folder_request(source_path("tests/goldens/control/sana/" + name));
}

std::string sana_network(const std::string& name) {
  return source_path("tests/goldens/networks/" + name).string();
}

std::vector<Finding> errors_of_sana(const GenerateRequest& request) {
  return engine().check(request, {}).errors;
}

TEST(SanaControlNets, TakeTheGoldensRequests) {
  for (const char* name : {"one", "deep", "prompts", "binning"})
    EXPECT_THAT(errors_of_sana(sana_control(name)), IsEmpty()) << name;
}

TEST(SanaControlNets, OfAnotherModelAreRefusedByName) {
  GenerateRequest request = sana_control();
  request.components["controlnet"] = sana_network("sd3_controlnet");
  EXPECT_FALSE(errors_of_sana(request).empty());
  request.components["controlnet"] = sana_network("sana_controlnet_rare_options");
  EXPECT_THAT(errors_of_sana(request), about("components.controlnet", "patch_size"));
}

TEST(SanaControlNets, AreOneOfARequest) {
  GenerateRequest request = sana_control();
  request.components["controlnet"] = {sana_network("sana_controlnet"),
                                      sana_network("sana_controlnet")};
  request.inputs["control_image"] = {request.inputs["control_image"],
                                     request.inputs["control_image"]};
  EXPECT_THAT(errors_of_sana(request),
              about("components.controlnet", "more than this model takes"));
}

TEST(SanaControlNets, GoWithNoSprint) {
  GenerateRequest request = sana_control();
  request.model = source_path("tests/goldens/pipelines/sana_sprint/model").string();
  request.inputs.erase("negative_prompt");
  EXPECT_THAT(errors_of_sana(request), about("components.controlnet", "Sana-Sprint"));
}

TEST(SanaControlNets, AndTheirImagesAreGivenTogether) {
  GenerateRequest request = sana_control();
  request.components.erase("controlnet");
  EXPECT_THAT(errors_of_sana(request), about("inputs.control_image", "a ControlNet reads it"));
  request = sana_control();
  request.inputs.erase("control_image");
  EXPECT_THAT(errors_of_sana(request), about("inputs.control_image", "missing"));
}

// A folder that brings one, as those of SanaControlNetPipeline do.
TEST(SanaControlNets, AreTakenFromTheModelsFolder) {
  const TemporaryPath folder("sana-controlnet");
  fs::copy(source_path("tests/goldens/pipelines/sana/model"), folder.path(),
           fs::copy_options::recursive);
  fs::copy(sana_network("sana_controlnet"), folder.path() / "controlnet");
  const fs::path index = folder.path() / "model_index.json";
  Json parts = read_json_file(index);
  parts["_class_name"] = "SanaControlNetPipeline";
  parts["controlnet"] = {"diffusers", "SanaControlNetModel"};
  io::write_file(index, parts.dump());
  GenerateRequest request = sana_control();
  const Tensor by_component = run(request).image;
  request.components.erase("controlnet");
  request.model = folder.path().string();
  EXPECT_THAT(errors_of_sana(request), IsEmpty());
  EXPECT_TRUE(run(request).image.equal(by_component));
}

TEST(SanaControlNets, LeaveTheImageAloneAtScaleZero) {
  GenerateRequest with = sana_control(), without = with;
  with.config["controlnet_conditioning_scale"] = 0.0;
  without.components.erase("controlnet");
  without.inputs.erase("control_image");
  without.config.erase("controlnet_conditioning_scale");
  EXPECT_TRUE(run(with).image.equal(run(without).image));
}

}  // namespace
}  // namespace omnirt::testing
