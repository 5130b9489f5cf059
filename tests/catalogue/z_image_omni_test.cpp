// Z-Image Omni: what holds of a run next to its goldens, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "catalogue/whole_runs.hpp"
#include "io/file.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest omni_request(const std::string& name = "edit_of_two") {
  return golden_request("z_image_omni/" + name);
}

// The request with a model whose file `of` is changed.
template <class Change>
GenerateRequest with_changed(const TemporaryFolder& folder, const std::string& of, Change change) {
  GenerateRequest request = omni_request("edit");
  std::filesystem::copy(request.model, folder.path() / "model",
                        std::filesystem::copy_options::recursive);
  const std::filesystem::path file = folder.path() / "model" / of;
  Json json = read_json_file(file);
  change(json);
  io::write_file(file, json.dump());
  request.model = folder.file("model");
  return request;
}

TEST(ZImageOmniRuns, HaveTheReferencesDefaults) {
  GenerateRequest request = omni_request("text2image");
  request.config = Json::object();
  const Proposal proposal = engine().check(request);
  EXPECT_THAT(proposal.errors, IsEmpty());
  EXPECT_EQ(proposal.spec->id, "z-image-omni");
  EXPECT_EQ(proposal.config.find("num_inference_steps")->value, 50);
  EXPECT_EQ(proposal.config.find("guidance_scale")->value, 5.0);
  EXPECT_EQ(proposal.config.find("width")->value, 1024);
}

TEST(ZImageOmniRuns, AreOfTheLastImagesSizeUnlessAnotherIsAskedFor) {
  GenerateRequest request = omni_request("edit_limited");
  const Proposal own = engine().check(request);
  EXPECT_EQ(own.config.find("width")->value, 80);  // of 88, in whole tokens
  EXPECT_EQ(own.config.find("height")->value, 64);
  request.config["width"] = 48;
  const Proposal other = engine().check(request);
  EXPECT_EQ(other.config.find("width")->value, 48);
  EXPECT_EQ(other.config.find("height")->value, 64);
  EXPECT_EQ(other.config.find("reference_area")->value, 1024 * 1024);
  request.config["height"] = 32;
  EXPECT_EQ(engine().check(request).config.find("reference_area")->value, 48 * 32);
}

TEST(ZImageOmniRuns, RefuseImagesThatTheReferenceRefuses) {
  TemporaryFolder folder;
  auto refusal = [&](int64_t width, int64_t height) {
    io::write_image(folder.file("image.png"), io::Image::zeros(width, height, 3));
    GenerateRequest request = omni_request("edit");
    request.inputs["image"] = folder.file("image.png");
    return engine().check(request).errors;
  };
  EXPECT_THAT(refusal(60, 80), about("inputs.image", "64 pixels"));
  EXPECT_THAT(refusal(600, 64), about("inputs.image", "8 times"));
  EXPECT_THAT(refusal(64, 512), IsEmpty());
  // The small model has positions for 80 rows.
  EXPECT_THAT(refusal(96, 704), about("inputs.image", "positions"));
}

TEST(ZImageOmniRuns, RefuseSizesAndTasksByName) {
  GenerateRequest request = omni_request("text2image");
  request.config["width"] = 40;
  EXPECT_THAT(engine().check(request).errors, about("config.width", "multiple of 16"));
  request = omni_request("text2image");
  request.config["hires_scale"] = 2.0;
  EXPECT_THAT(engine().check(request).errors, about("config.hires_scale"));
  request = omni_request("edit");
  request.inputs["mask"] = source_path("tests/goldens/pipelines/inputs/mask.png").string();
  EXPECT_FALSE(engine().check(request).ok());
}

TEST(ZImageOmniRuns, RefusePartsThatDoNotBelongTogether) {
  const TemporaryFolder first, second, third;
  const GenerateRequest basic = with_changed(first, "model_index.json", [](Json& index) {
    index["_class_name"] = "ZImagePipeline";
    index.erase("siglip");
    index.erase("siglip_processor");
  });
  GenerateRequest text = basic;
  text.task = "text2image";
  text.inputs.erase("image");
  EXPECT_THAT(engine().check(text).errors, about("transformer.siglip_feat_dim", "Omni's"));
  const GenerateRequest other = with_changed(second, "siglip_processor/preprocessor_config.json",
                                             [](Json& json) { json["patch_size"] = 16; });
  EXPECT_THAT(engine().check(other).errors, about("siglip_processor.patch_size", "8 pixels"));
  GenerateRequest plain = omni_request("text2image");
  plain.components["transformer"] =
      source_path("tests/goldens/pipelines/z_image/model/transformer").string();
  EXPECT_THAT(engine().check(plain).errors, about("transformer.siglip_feat_dim", "SigLIP2"));
}

TEST(ZImageOmniRuns, RefusePromptsThatThereAreNoPositionsFor) {
  GenerateRequest request = omni_request("edit");
  request.config["max_sequence_length"] = 512;
  std::string words;
  for (int i = 0; i < 170; ++i) words += "x ";
  request.inputs["prompt"] = words;
  EXPECT_THAT(engine().check(request).errors, about("inputs.prompt", "positions"));
}

TEST(ZImageOmniRuns, GiveTheSameImagesInBatchesOfAnySize) {
  expect_the_same_in_batches_of_any_size(omni_request());
}

TEST(ZImageOmniRuns, GiveTheBytesOfTheWholeRunAfterAnyCut) {
  expect_the_same_after_any_cut(omni_request("edit"));
}

TEST(ZImageOmniRuns, TakeCachesOfSteps) {
  GenerateRequest request = omni_request("edit");
  request.config["num_inference_steps"] = 8;
  const Tensor full = run(request).image;
  for (const Json& config :
       {Json{{"cache", "first_block"}, {"cache_threshold", 10}}, Json{{"cache", "taylorseer"}}}) {
    GenerateRequest cached = request;
    cached.config.update(config);
    const Outcome made = run(cached);
    EXPECT_GT(made.report.step_cache->cached_steps, 0U) << config;
    EXPECT_FALSE(made.image.equal(full)) << config;
    EXPECT_GT(psnr(made.image, full, 1), 10) << config;
  }
  request.config.update({{"cache", "first_block"}, {"cache_threshold", 0}});
  EXPECT_GT(psnr(run(request).image, full, 1), 90);
}

}  // namespace
}  // namespace omnirt::testing
