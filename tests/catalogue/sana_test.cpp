// What is reported about requests to Sana before any weight is read.
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

GenerateRequest sana_request(const Json& config = Json::object()) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/sana/model").string();
  made.inputs["prompt"] = "apple";
  made.config = config;
  return made;
}

Proposal checked_sana(const GenerateRequest& request) {
  return engine().check(request, {});
}

TEST(Sana, HasTheDefaultsOfItsPipeline) {
  Proposal made = checked_sana(sana_request());
  EXPECT_THAT(made.errors, IsEmpty());
  EXPECT_EQ(made.spec->id, "sana");
  EXPECT_EQ(made.config.find("num_inference_steps")->value, 20);
  EXPECT_EQ(made.config.find("guidance_scale")->value, 4.5);
  EXPECT_EQ(made.config.find("width")->value, 1024);  // whatever the transformer's own
  const ModelSpec* entry = engine().catalogue().find_entry("sana-1.5", "text2image");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->id, "sana");
}

TEST(Sana, TakesAnySizeWithBinningAndWholeLatentsWithout) {
  Json odd = {{"width", 101}, {"height", 57}};
  EXPECT_THAT(checked_sana(sana_request(odd)).errors, IsEmpty());
  odd["use_resolution_binning"] = false;
  EXPECT_THAT(checked_sana(sana_request(odd)).errors, about("config.width", "multiple of 32"));
}

TEST(Sana, TellsWhatIsCutOffAPromptAndNotOfItsInstruction) {
  GenerateRequest request = sana_request({{"max_sequence_length", 5}});
  EXPECT_THAT(checked_sana(request).warnings, IsEmpty());
  request.inputs["prompt"] = "a small red apple and the sea";
  const std::vector<Finding> warnings = checked_sana(request).warnings;
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_EQ(warnings[0].field, "inputs.prompt");
  EXPECT_TRUE(request.inputs["prompt"].get<std::string>().ends_with(
      warnings[0].value.substr(warnings[0].value.find_first_not_of(' '))))
      << warnings[0].value;
}

TEST(SanaSprint, TakesTheGuidanceScaleAsAnInputAndNoGuider) {
  GenerateRequest request = sana_request();
  request.model = source_path("tests/goldens/pipelines/sana_sprint/model").string();
  Proposal made = checked_sana(request);
  EXPECT_THAT(made.errors, IsEmpty());
  EXPECT_EQ(made.spec->id, "sana-sprint");
  EXPECT_EQ(made.config.find("num_inference_steps")->value, 2);
  EXPECT_EQ(made.config.find("guidance_scale")->value, 4.5);
  request.guider = {{"type", "apg"}};
  EXPECT_THAT(checked_sana(request).errors, about("guider"));
  request.guider = Json();
  request.config["timesteps"] = {1.5, 1.0};
  EXPECT_THAT(checked_sana(request).errors, about("config.timesteps"));
}

// The folder of Sana-Sprint under the name of its other pipeline.
TEST(SanaSprint, IsReadAsTheFolderOfItsImage2ImagePipeline) {
  const TemporaryPath folder("sana-sprint-img2img");
  fs::copy(source_path("tests/goldens/pipelines/sana_sprint/model"), folder.path(),
           fs::copy_options::recursive);
  const fs::path index = folder.path() / "model_index.json";
  Json parts = read_json_file(index);
  parts["_class_name"] = "SanaSprintImg2ImgPipeline";
  io::write_file(index, parts.dump());
  GenerateRequest request = sana_request();
  request.model = folder.path().string();
  request.inputs["image"] = source_path("tests/goldens/pipelines/inputs/image.png").string();
  Proposal made = checked_sana(request);
  EXPECT_THAT(made.errors, IsEmpty());
  EXPECT_EQ(made.spec->id, "sana-sprint");
  EXPECT_EQ(made.task, "image2image");
  EXPECT_EQ(made.config.find("strength")->value, 0.6);
  request.config["strength"] = 0.0;
  EXPECT_THAT(checked_sana(request).errors, about("config.strength", "leaves none of the 2 steps"));
}

TEST(SanaSprint, AloneOfSanaStartsFromAnImage) {
  GenerateRequest request = sana_request();
  request.inputs["image"] = source_path("tests/goldens/pipelines/inputs/image.png").string();
  EXPECT_THAT(checked_sana(request).errors, about("task", "was not trained for this task"));
}

// Cropped before it is made as large as the image that is made, which is not the one asked for.
TEST(SanaSprint, FitsTheImageToTheSizeThatItIsMadeAt) {
  GenerateRequest request = golden_request("sana_sprint/image2image_binning");
  const Tensor stretched = run(request).image;
  request.config["image_fit"] = "crop";
  const Tensor cropped = run(request).image;
  EXPECT_EQ(cropped.sizes(), stretched.sizes());
  EXPECT_LT(psnr(cropped, stretched, 1.0), 60);
}

TEST(Sana, RefusesWhatItDoesNotHave) {
  EXPECT_THAT(checked_sana(sana_request({{"cache", "deep"}})).errors, about("config.cache"));
  EXPECT_THAT(checked_sana(sana_request({{"clean_caption", true}})).errors,
              about("config.clean_caption"));
  GenerateRequest wrong = sana_request();
  wrong.components["text_encoder"] = source_path("tests/goldens/networks/gemma2_capped").string();
  EXPECT_THAT(checked_sana(wrong).errors, about("text_encoder.hidden_size"));
}

}  // namespace
}  // namespace omnirt::testing
