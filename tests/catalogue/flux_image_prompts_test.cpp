// What requests with FLUX.1 Redux and IP-Adapters are held to before any weight is read; the images
// are in goldens_test.cpp.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest flux_run(const std::string& name) {
  return folder_request(source_path("tests/goldens/control/flux/" + name));
}

std::string golden_file(const std::string& name) {
  return source_path("tests/goldens/" + name).string();
}

std::vector<Finding> errors_of(const GenerateRequest& request) {
  return engine().check(request, {}).errors;
}

TEST(FluxRedux, TakesTheGoldensRequests) {
  for (const char* name : {"redux", "redux_prompt"})
    EXPECT_THAT(errors_of(flux_run(name)), IsEmpty()) << name;
}

TEST(FluxRedux, NamesPartsThatAreMissingOrOfAnotherModel) {
  GenerateRequest request = flux_run("redux");
  request.components.erase("image_embedder");
  EXPECT_THAT(errors_of(request), about("image_embedder"));
  request = flux_run("redux");
  request.components["image_encoder"] = golden_file("networks/vision_projected");
  EXPECT_THAT(errors_of(request), about("image_encoder"));
}

TEST(FluxRedux, ChecksScalesByImages) {
  GenerateRequest request = flux_run("redux_prompt");
  request.config["prompt_embeds_scale"] = Json::array({1.0});
  EXPECT_THAT(errors_of(request), about("config.prompt_embeds_scale", "2 of them"));
  request = flux_run("redux_prompt");
  request.config["pooled_prompt_embeds_scale"] = "much";
  EXPECT_FALSE(errors_of(request).empty());
}

TEST(FluxRedux, AnImageOfScaleZeroIsNone) {
  GenerateRequest two = flux_run("redux_prompt"), one = two;
  two.config["prompt_embeds_scale"] = Json::array({0.7, 0.0});
  two.config["pooled_prompt_embeds_scale"] = Json::array({1.0, 0.0});
  one.inputs["redux_image"] = Json::array({one.inputs["redux_image"][0]});
  one.config["prompt_embeds_scale"] = 0.7;
  one.config["pooled_prompt_embeds_scale"] = 1.0;
  EXPECT_GT(psnr(run(two).image, run(one).image, 1.0), 80);
}

TEST(FluxIPAdapters, TakeTheGoldensRequests) {
  for (const char* name : {"ip_one", "ip_negative", "ip_negative_image", "ip_two"})
    EXPECT_THAT(errors_of(flux_run(name)), IsEmpty()) << name;
}

TEST(FluxIPAdapters, OfAnotherModelAreRefusedByName) {
  GenerateRequest request = flux_run("ip_one");
  request.components["ip_adapter"] = golden_file("control/parts/ip_base.safetensors");
  EXPECT_THAT(errors_of(request), about("ip_adapter"));
  request = flux_run("ip_one");
  request.components["transformer"] = golden_file("control/parts_flux/transformer");
  EXPECT_THAT(errors_of(request), about("components.ip_adapter", "number of blocks"));
  request = flux_run("ip_one");
  request.components["image_encoder"] = golden_file("networks/siglip_vision");
  EXPECT_THAT(errors_of(request), about("image_encoder"));
}

TEST(FluxIPAdapters, AndTheirImagesAreGivenTogether) {
  GenerateRequest request = flux_run("ip_one");
  request.components.erase("ip_adapter");
  EXPECT_THAT(errors_of(request), about("inputs.ip_adapter_image", "IP-Adapter reads it"));
  request = flux_run("ip_negative_image");
  request.inputs.erase("negative_prompt");
  request.config.erase("true_cfg_scale");
  EXPECT_THAT(errors_of(request), about("inputs.negative_ip_adapter_image", "there is none"));
}

TEST(FluxIPAdapters, ChecksScalesByAdaptersAndBlocks) {
  auto with = [](const char* name, const Json& scale) {
    GenerateRequest request = flux_run(name);
    request.config["ip_adapter_scale"] = scale;
    return errors_of(request);
  };
  EXPECT_THAT(with("ip_two", 0.5), IsEmpty());
  EXPECT_THAT(with("ip_two", Json::array({0.5})), about("config.ip_adapter_scale", "are 2"));
  EXPECT_THAT(with("ip_one", Json::parse("[[0.5]]")), about("config.ip_adapter_scale", "blocks"));
  EXPECT_THAT(with("ip_one", Json::parse("[[0.5, \"x\"]]")), about("config.ip_adapter_scale"));
  EXPECT_THAT(with("ip_one", 1e9), about("config.ip_adapter_scale", "number"));
}

TEST(FluxIPAdapters, LeaveTheImageAloneAtScaleZero) {
  GenerateRequest with = flux_run("ip_negative"), without = with;
  with.config["ip_adapter_scale"] = 0.0;
  without.components.erase("ip_adapter");
  without.components.erase("image_encoder");
  without.inputs.erase("ip_adapter_image");
  without.config.erase("ip_adapter_scale");
  EXPECT_GT(psnr(run(with).image, run(without).image, 1.0), 80);
}

TEST(FluxIPAdapters, GiveAnImageTheSameInAnyBatch) {
  GenerateRequest request = flux_run("ip_negative");
  const Tensor together = run(request).image;
  request.config["max_batch_rows"] = 1;
  EXPECT_GT(psnr(run(request).image, together, 1.0), 80);
}

}  // namespace
}  // namespace omnirt::testing
