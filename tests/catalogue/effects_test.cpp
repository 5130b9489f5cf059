// A setting of guidance that has no effect is a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "pipeline/keys.hpp"
#include "small_models.hpp"

namespace omnirt::testing {
namespace {

GenerateRequest request_of(const ModelSpec& entry) {
  GenerateRequest request;
  request.model = entry.id;
  request.task = entry.task;
  auto picture = [](const char* name) {
    return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
  };
  if (entry.task != "image2video") request.inputs["prompt"] = "a red apple";
  if (entry.task != "text2image") request.inputs["image"] = picture("image.png");
  if (entry.task == "inpaint") request.inputs["mask"] = picture("mask.png");
  request.config = {{"model_path", small_model(entry.id)}, {"seed", 1}, {"num_inference_steps", 2}};
  return request;
}

std::vector<Finding> warnings_of(const GenerateRequest& request) {
  const Proposal proposal = engine().check(request);
  EXPECT_TRUE(proposal.ok()) << proposal.errors.front().text();
  return proposal.warnings;
}

// In every family, by the scale that its guider has: no setting next to it is ignored in silence.
TEST(Guidance, SettingsWithoutAnEffectAreFindingsInEveryFamily) {
  for (const Family& family : engine().catalogue().families) {
    auto entry = std::ranges::find_if(family.entries, [](const ModelSpec& each) {
      return !small_model(each.id).empty() && each.task != "upscale";
    });
    if (entry == family.entries.end()) continue;
    GenerateRequest request = request_of(*entry);
    for (const char* scale : {"guidance_scale", "true_cfg_scale"}) {
      const bool known = std::ranges::any_of(family.guider_keys, [&](const KeyInfo* key) {
        return key->name == std::string_view(scale);
      });
      if (known) request.config[scale] = 0;
    }
    for (const KeyInfo* key : family.guider_keys) {
      const std::string name = key->name;
      if (name.ends_with("guidance_scale") || name == "true_cfg_scale") continue;
      GenerateRequest set = request;
      const double number = name.ends_with("_start") ? 0.1 : 0.5;  // before the usual stop
      set.config[name] = key->type == KeyInfo::Type::list ? Json{0} : Json(number);
      if (family.name == "svd") continue;  // it has no other settings
      EXPECT_THAT(warnings_of(set), about("config." + name, "has no effect without guidance"))
          << entry->id;
    }
  }
}

TEST(Guidance, SettingsOfAGuiderThatDoesNotGuideAreFindings) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.config.erase("guidance_scale");
  request.guider = {{"type", "cfg"}, {"guidance_scale", 1.0}, {"guidance_rescale", 0.5}};
  EXPECT_THAT(warnings_of(request), about("guider.guidance_rescale", "without guidance"));
  // Perturbed attention guides in a part of the run, but rescales nothing.
  request.guider = {
      {"type", "pag"}, {"guidance_scale", 1.0}, {"guidance_rescale", 0.5}, {"stop", 0.5}};
  EXPECT_THAT(warnings_of(request), about("guider.guidance_rescale", "without guidance"));
  EXPECT_THAT(warnings_of(request), ::testing::Not(about("guider.stop")));
  request.guider = {{"type", "cfg"}, {"guidance_scale", 3.0}, {"guidance_rescale", 0.5}};
  EXPECT_THAT(warnings_of(request), ::testing::IsEmpty());
}

// A run records what it used.
TEST(Guidance, SettingsWithoutAnEffectAreNotInTheRecord) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.config.update({{"guidance_scale", 1.0}, {"guidance_rescale", 0.5}});
  EXPECT_FALSE(engine().check(request).record()["config"].contains("guidance_rescale"));
}

}  // namespace
}  // namespace omnirt::testing
