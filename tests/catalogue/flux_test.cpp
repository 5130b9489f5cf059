// What is said of requests to FLUX.1 before any weight is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blocks/shifted_timesteps.hpp"
#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "families/flux/kontext_blocks.hpp"

namespace omnirt::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string flux_input(const char* name) {
  return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
}

GenerateRequest flux_request(const std::string& model, const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/" + model + "/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

std::vector<std::string> fields_of(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& finding : findings) names.push_back(finding.field);
  return names;
}

TEST(Flux, FoldersAreVariantsOfTheEntryWhoseStepsAndGuidanceTheyHave) {
  Proposal schnell = engine().check(flux_request("flux_schnell"), {});
  EXPECT_THAT(schnell.errors, IsEmpty());
  EXPECT_EQ(schnell.spec->id, "flux1.schnell");
  EXPECT_EQ(schnell.config.find("num_inference_steps")->value, 4);
  EXPECT_EQ(schnell.config.find("max_sequence_length")->value, 256);
  Proposal dev = engine().check(flux_request("flux_dev"), {});
  EXPECT_THAT(dev.errors, IsEmpty());
  EXPECT_EQ(dev.spec->id, "flux1.dev");
  EXPECT_EQ(dev.config.find("guidance_scale")->value, 3.5);
  EXPECT_EQ(dev.config.find("true_cfg_scale")->value, 1.0);
}

TEST(Flux, GoesByTheNamesThatOthersUse) {
  for (auto [alias, id] : {std::pair{"flux-dev", "flux1.dev"},
                           {"flux.1-schnell", "flux1.schnell"},
                           {"flux1-dev", "flux1.dev"}}) {
    const ModelSpec* entry = engine().catalogue().find_entry(alias, "inpaint");
    ASSERT_TRUE(entry) << alias;
    EXPECT_EQ(entry->id, id);
  }
}

TEST(Flux, RefusesAGuidanceScaleThatNothingTakes) {
  Proposal schnell = engine().check(flux_request("flux_schnell", {{"guidance_scale", 3.5}}), {});
  EXPECT_THAT(schnell.errors, about("config.guidance_scale", "true_cfg_scale"));
  Proposal dev = engine().check(flux_request("flux_dev", {{"guidance_scale", 2.0}}), {});
  EXPECT_THAT(dev.errors, IsEmpty());
}

TEST(Flux, AsksTwiceOnlyByANegativePrompt) {
  for (const char* model : {"flux_schnell", "flux_dev"}) {
    SCOPED_TRACE(model);
    GenerateRequest request = flux_request(model, {{"true_cfg_scale", 4.0}});
    EXPECT_THAT(engine().check(request, {}).errors,
                about("config.true_cfg_scale", "negative prompt"));
    request.inputs["negative_prompt"] = "";
    Proposal guided = engine().check(request, {});
    EXPECT_THAT(guided.errors, IsEmpty());
    EXPECT_EQ(guided.guider->conditions().size(), 2U);
    request.config = {{"true_cfg_scale", 1.0}};
    EXPECT_EQ(engine().check(request, {}).guider->conditions().size(), 1U);
  }
}

TEST(Flux, OfDevTakesNoGuiderBesideItsOwnScale) {
  GenerateRequest request = flux_request("flux_dev");
  request.guider = {{"type", "apg"}, {"guidance_scale", 4.0}};
  EXPECT_THAT(engine().check(request, {}).errors, about("guider", "as an input"));
  request.model = flux_request("flux_schnell").model;
  EXPECT_THAT(engine().check(request, {}).errors, about("guider", "negative prompt"));
  request.inputs["negative_prompt"] = "a pear";
  EXPECT_THAT(engine().check(request, {}).errors, IsEmpty());
}

TEST(Flux, TakesSizesOfWholeTokens) {
  // Two of the convolutions' latents of 4 pixels each.
  Proposal odd = engine().check(flux_request("flux_dev", {{"width", 100}, {"height", 64}}), {});
  EXPECT_THAT(fields_of(odd.errors), ElementsAre("config.width"));
  EXPECT_THAT(odd.errors, about("config.width", "not a multiple of 8"));
  Proposal usual = engine().check(flux_request("flux_dev"), {});
  EXPECT_EQ(usual.config.find("width")->value, 512);
}

// As the reference does, whatever size the given image has.
TEST(Flux, StartsFromImagesAtTheModelsSize) {
  GenerateRequest request = flux_request("flux_dev");
  request.inputs["image"] = flux_input("image_88x72.png");
  Proposal image = engine().check(request, {});
  EXPECT_THAT(image.errors, IsEmpty());
  EXPECT_EQ(image.task, "image2image");
  EXPECT_EQ(image.config.find("width")->value, 512);
  EXPECT_EQ(image.config.find("strength")->value, 0.6);
  EXPECT_EQ(image.config.find("guidance_scale")->value, 7.0);
  request.config = {{"strength", 0.0}};
  EXPECT_THAT(engine().check(request, {}).errors, about("config.strength", "none of the 28 steps"));
}

TEST(Flux, RefusesWhatItHasNot) {
  Proposal length = engine().check(flux_request("flux_dev", {{"max_sequence_length", 513}}), {});
  EXPECT_THAT(length.errors, about("config.max_sequence_length", "more than 512"));
  Proposal ddim = engine().check(flux_request("flux_dev", {{"scheduler", "ddim"}}), {});
  EXPECT_THAT(ddim.errors, about("config.scheduler", "cannot be given"));
  Proposal cache = engine().check(flux_request("flux_dev", {{"cache", "deep"}}), {});
  EXPECT_FALSE(cache.errors.empty());
}

TEST(Flux, FillAndControlAreToldByTheirChannelsAndDoWhatTheyWereTrainedFor) {
  Proposal bare = engine().check(flux_request("flux_fill"), {});
  EXPECT_THAT(bare.errors, about("task", "not trained"));
  GenerateRequest fill = flux_request("flux_fill");
  fill.inputs["image"] = flux_input("image.png");
  fill.inputs["mask"] = flux_input("mask.png");
  Proposal filled = engine().check(fill, {});
  EXPECT_THAT(filled.errors, IsEmpty());
  EXPECT_EQ(filled.spec->id, "flux1.fill-dev");
  EXPECT_EQ(filled.config.find("guidance_scale")->value, 30.0);
  EXPECT_EQ(filled.config.find("strength")->value, 1.0);
  Proposal without = engine().check(flux_request("flux_control"), {});
  EXPECT_THAT(without.errors, about("inputs.control_image"));
  GenerateRequest control = flux_request("flux_control");
  control.inputs["control_image"] = flux_input("image.png");
  EXPECT_THAT(engine().check(control, {}).errors, IsEmpty());
  control.inputs["image"] = flux_input("image.png");
  Proposal begun = engine().check(control, {});
  EXPECT_THAT(begun.errors, IsEmpty());
  EXPECT_EQ(begun.task, "image2image");
  EXPECT_EQ(begun.config.find("guidance_scale")->value, 7.0);
  EXPECT_EQ(begun.config.find("strength")->value, 0.6);
  control.inputs.erase("image");
  control.model = flux_request("flux_dev").model;
  EXPECT_FALSE(engine().check(control, {}).errors.empty());
}

TEST(FluxKontext, MakesImagesOfItsAreaInTheShapeThatIsAskedFor) {
  GenerateRequest edit = flux_request("flux_kontext", {{"width", 768}, {"height", 1024}});
  edit.inputs["image"] = flux_input("image.png");
  Proposal proposal = engine().check(edit, {});
  EXPECT_THAT(proposal.errors, IsEmpty());
  EXPECT_EQ(proposal.task, "edit");
  EXPECT_EQ(proposal.spec->id, "flux1.kontext-dev");
  EXPECT_EQ(proposal.config.find("width")->value, 880);
  EXPECT_EQ(proposal.config.find("height")->value, 1176);
  EXPECT_THAT(proposal.warnings, about("config.width", "880x1176"));
  edit.config = {{"width", 8}, {"height", 8192}};
  EXPECT_THAT(engine().check(edit, {}).errors, about("config.max_area"));
}

TEST(FluxKontext, RepaintsAnImageAtTheSizeAtWhichItIsLookedAt) {
  GenerateRequest inpaint = flux_request("flux_kontext");
  inpaint.inputs["image"] = flux_input("image.png");
  inpaint.inputs["mask"] = flux_input("mask.png");
  Proposal proposal = engine().check(inpaint, {});
  EXPECT_THAT(proposal.errors, IsEmpty());
  EXPECT_EQ(proposal.task, "inpaint");
  EXPECT_EQ(proposal.config.find("width")->value, 1024);
  EXPECT_EQ(proposal.config.find("strength")->value, 1.0);
  inpaint.config = {{"auto_resize", false}, {"width", 64}, {"height", 48}};
  EXPECT_THAT(engine().check(inpaint, {}).errors, about("config.height", "here 64"));
  inpaint.config = {{"auto_resize", false}};
  const std::string one = flux_input("image_88x72.png");
  inpaint.inputs["image_reference"] = {one};
  EXPECT_THAT(engine().check(inpaint, {}).errors, IsEmpty());
  inpaint.inputs["image_reference"] = {one, one};
  EXPECT_THAT(engine().check(inpaint, {}).errors, about("inputs.image_reference", "by one"));
}

// Values of the reference's PREFERRED_KONTEXT_RESOLUTIONS.
TEST(FluxKontext, LooksAtImagesInTheNearestOfItsSizes) {
  using flux::KontextSize;
  EXPECT_EQ(flux::looked_at({640, 640}, true, 16), (KontextSize{1024, 1024}));
  EXPECT_EQ(flux::looked_at({1920, 1080}, true, 16), (KontextSize{1392, 752}));
  EXPECT_EQ(flux::looked_at({100, 4000}, true, 16), (KontextSize{672, 1568}));
  EXPECT_EQ(flux::looked_at({100, 72}, false, 16), (KontextSize{96, 64}));
  EXPECT_EQ(flux::of_area({1024, 1024}, 1024 * 1024, 16), (KontextSize{1024, 1024}));
}

// Values of the reference's calculate_shift.
TEST(LinearMu, GrowsWithTheImageAlongTheSchedulersLine) {
  EXPECT_NEAR(blocks::linear_mu(Json::object(), 256, 4), 0.5, 1e-12);
  EXPECT_NEAR(blocks::linear_mu(Json::object(), 4096, 28), 1.15, 1e-12);
  EXPECT_NEAR(blocks::linear_mu(Json::object(), 1024, 28), 0.63, 1e-12);
  Json other = {{"base_shift", 0.3},
                {"max_shift", 2.0},
                {"base_image_seq_len", 4},
                {"max_image_seq_len", 64}};
  EXPECT_NEAR(blocks::linear_mu(other, 24, 8), 0.8666666666666667, 1e-12);
}

}  // namespace
}  // namespace omnirt::testing
