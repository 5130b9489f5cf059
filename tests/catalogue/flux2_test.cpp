// What is reported about requests to FLUX.2 before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::string input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

GenerateRequest request(const std::string& model, const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/" + model + "/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

std::vector<std::string> fields(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& finding : findings) names.push_back(finding.field);
  return names;
}

TEST(Flux2, FoldersAreVariantsOfTheEntryWhoseStepsAndGuidanceTheyHave) {
  Proposal klein = engine().check(request("flux2_klein"), {});
  EXPECT_EQ(klein.spec->id, "flux2.klein-4b");
  EXPECT_EQ(klein.config.find("num_inference_steps")->value, 4);
  EXPECT_EQ(klein.config.find("guidance_scale")->value, 1.0);
  Proposal base = engine().check(request("flux2_klein_base"), {});
  EXPECT_EQ(base.spec->id, "flux2.klein-base-4b");
  EXPECT_EQ(base.config.find("num_inference_steps")->value, 50);
  EXPECT_EQ(base.config.find("guidance_scale")->value, 4.0);
  EXPECT_EQ(engine().check(request("flux2_dev"), {}).spec->id, "flux2.dev");
}

TEST(Flux2, GoesByTheNamesThatOthersUse) {
  for (auto [alias, id] :
       {std::pair{"flux2-dev", "flux2.dev"}, {"flux2.klein", "flux2.klein-4b"}}) {
    const ModelSpec* entry = engine().catalogue().find_entry(alias, "text2image");
    ASSERT_TRUE(entry) << alias;
    EXPECT_EQ(entry->id, id);
  }
}

TEST(Flux2, RefusesGuidanceOfAModelThatWasDistilledToDoWithout) {
  Proposal scale = engine().check(request("flux2_klein", {{"guidance_scale", 4.0}}), {});
  EXPECT_THAT(scale.errors, about("config.guidance_scale", "distilled"));
  GenerateRequest guided = request("flux2_klein");
  guided.guider = {{"type", "apg"}, {"guidance_scale", 4.0}};
  EXPECT_THAT(engine().check(guided, {}).errors, about("guider", "distilled"));
  Proposal base = engine().check(request("flux2_klein_base", {{"guidance_scale", 2.0}}), {});
  EXPECT_THAT(base.errors, IsEmpty());
}

TEST(Flux2, TakesSizesOfWholeLatents) {
  Proposal odd = engine().check(request("flux2_klein", {{"width", 100}, {"height", 64}}), {});
  EXPECT_THAT(fields(odd.errors), ElementsAre("config.width"));
  // As the reference reckons it: 128 of the convolutions' latents.
  Proposal usual = engine().check(request("flux2_klein"), {});
  EXPECT_EQ(usual.config.find("width")->value, 512);
}

TEST(Flux2, EditsAtTheImagesSizeUnlessAnotherIsAskedFor) {
  GenerateRequest edit = request("flux2_klein");
  edit.inputs["image"] = input("image_88x72.png");
  Proposal own = engine().check(edit, {});
  EXPECT_THAT(own.errors, IsEmpty());
  EXPECT_EQ(own.task, "edit");
  EXPECT_EQ(own.config.find("width")->value, 88);
  EXPECT_EQ(own.config.find("height")->value, 72);
  edit.config["width"] = 32;
  Proposal other = engine().check(edit, {});
  EXPECT_EQ(other.config.find("width")->value, 32);
  EXPECT_EQ(other.config.find("height")->value, 72);
}

TEST(Flux2, RepaintsAnImageAtItsOwnSize) {
  GenerateRequest inpaint = request("flux2_klein", {{"width", 32}});
  inpaint.inputs["image"] = input("image.png");
  inpaint.inputs["mask"] = input("mask.png");
  EXPECT_THAT(engine().check(inpaint, {}).errors, about("config.width", "keeps its size"));
  inpaint.config = {{"strength", 0.0}};
  EXPECT_THAT(engine().check(inpaint, {}).errors, about("config.strength", "none of the 4 steps"));
}

TEST(Flux2, RefusesSchedulersThatTakeNoLevelsOfNoise) {
  Proposal ddim = engine().check(request("flux2_klein", {{"scheduler", "ddim"}}), {});
  EXPECT_THAT(ddim.errors, about("config.scheduler", "cannot be given"));
  Json flow = {
      {"scheduler", "unipc"},
      {"scheduler_config", {{"use_flow_sigmas", true}, {"prediction_type", "flow_prediction"}}}};
  EXPECT_THAT(engine().check(request("flux2_klein", flow), {}).errors,
              Not(about("config.scheduler")));
}

}  // namespace
}  // namespace omnirt::testing
