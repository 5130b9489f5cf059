// What a program hands to a request in memory: the same as files of it, and refused where it does
// not fit. That blocks keep to it over Python is in tests/python.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "pipeline/latents_file.hpp"
#include "request/given_values.hpp"
#include "request/validate.hpp"
#include "tensor/generator.hpp"

namespace omnirt::testing {
namespace {
using ::testing::IsEmpty;

const std::vector<int64_t> shape{1, 4, 8, 8};

// A golden's run in 64x64 pixels.
GenerateRequest small_request(const std::string& name) {
  GenerateRequest request = golden_request(name);
  request.config["width"] = request.config["height"] = 64;
  return request;
}

GenerateRequest with(GenerateRequest request, GivenValues given) {
  request.given = std::make_shared<const GivenValues>(std::move(given));
  return request;
}

GenerateRequest drawing_from(GenerateRequest request, const std::vector<uint64_t>& seeds) {
  return with(std::move(request), {.noise = std::make_shared<Noise>(seeds)});
}

std::vector<Finding> errors(const GenerateRequest& request) {
  return engine().check(request).errors;
}

TEST(GivenValues, AnImageMakesWhatItsFileMakes) {
  GenerateRequest named = golden_request("sd15/image2image");
  auto image = std::make_shared<const io::Image>(io::read_image(named.inputs["image"]));
  GenerateRequest given = with(named, {.images = {image}});
  given.inputs["image"] = {{"in_memory", 0}};
  EXPECT_TRUE(run(given).image.equal(run(named).image));
}

TEST(GivenValues, LatentsMakeWhatTheirFileMakes) {
  TemporaryFolder folder;
  Tensor noise = Noise(std::vector<uint64_t>{7}).randn(shape);
  GenerateRequest named = small_request("sd15/text2image");
  named.inputs["latents"] = folder.file("noise.safetensors");
  write_latents(named.inputs["latents"].get<std::string>(), noise, Json::object());
  GenerateRequest given =
      with(named, {.latents = {std::make_shared<const GivenLatents>(GivenLatents{noise})}});
  given.inputs["latents"] = {{"in_memory", 0}};
  EXPECT_TRUE(run(given).image.equal(run(named).image));
}

TEST(GivenValues, EmbeddingsMakeWhatTheirTextMakes) {
  GenerateRequest named = small_request("sd15/text2image");
  named.inputs["negative_prompt"] = "a crab";
  Outcome by_text = run(named);
  GivenEmbeds embeds;
  embeds.tensors["prompt_embeds"] = by_text.prompt_embeds.at("cond");
  embeds.tensors["negative_prompt_embeds"] = by_text.prompt_embeds.at("uncond");
  GenerateRequest given =
      with(named, {.embeds = {std::make_shared<const GivenEmbeds>(std::move(embeds))}});
  given.inputs.erase("prompt");
  given.inputs.erase("negative_prompt");
  given.inputs["encoded_prompt"] = {{"in_memory", 0}};
  EXPECT_TRUE(run(given).image.equal(by_text.image));
}

TEST(GivenValues, PlacesThatNameNothingAreRefusedAsPaths) {
  GenerateRequest request = golden_request("sd15/image2image");
  auto image = std::make_shared<const io::Image>(io::Image::zeros(64, 64, 3));
  for (const Json& place : std::vector<Json>{1, -1, "0", 1.5, nullptr}) {
    GenerateRequest given = with(request, {.images = {image}});
    given.inputs["image"] = {{"in_memory", place}};
    EXPECT_THAT(errors(given), about("inputs.image", "the path of an image is expected")) << place;
  }
  // Of another kind than the input takes.
  GenerateRequest latents = with(small_request("sd15/text2image"), {.images = {image}});
  latents.inputs["latents"] = {{"in_memory", 0}};
  EXPECT_THAT(errors(latents), about("inputs.latents", "the path of a latents file is expected"));
}

// A request of text alone cannot name what a program holds.
TEST(GivenValues, AreRefusedWhereNoProgramHandsThemOver) {
  GenerateRequest request = golden_request("sd15/image2image");
  request.inputs["image"] = {{"in_memory", 0}};
  EXPECT_THAT(errors(request), about("inputs.image", "the path of an image is expected"));
}

TEST(GivenValues, LatentsThatDoNotFitAreRefusedByTheirName) {
  for (const Tensor& wrong : {at::zeros({1, 4, 8, 9}), at::zeros({3, 5})}) {
    GenerateRequest given =
        with(small_request("sd15/text2image"),
             {.latents = {std::make_shared<const GivenLatents>(GivenLatents{wrong})}});
    given.inputs["latents"] = {{"in_memory", 0}};
    EXPECT_THAT(errors(given), about("inputs.latents", ""));
  }
}

TEST(GivenGenerators, DrawAsTheirSeedWouldAndAreLeftWhereTheRunLeftThem) {
  GenerateRequest seeded = small_request("sd15/text2image");
  seeded.config["seed"] = 5;
  GenerateRequest given = drawing_from(small_request("sd15/text2image"), {5});
  const auto& noise = given.given->noise;
  const Tensor before = noise->state();
  EXPECT_THAT(errors(given), IsEmpty());
  EXPECT_TRUE(noise->state().equal(before)) << "a check draws nothing";
  EXPECT_TRUE(run(given).image.equal(run(seeded).image));
  Noise alone(std::vector<uint64_t>{5});
  alone.randn(shape);
  EXPECT_TRUE(noise->state().equal(alone.state()));
}

TEST(GivenGenerators, AreOneForEachImageOrOneForAllThatStartFromNoise) {
  GenerateRequest request = small_request("sd15/text2image");
  request.config["num_images_per_prompt"] = 3;
  EXPECT_THAT(errors(drawing_from(request, {1, 2, 3})), IsEmpty());
  EXPECT_THAT(errors(drawing_from(request, {1})), IsEmpty());
  EXPECT_THAT(errors(drawing_from(request, {1, 2})), about("inputs.generator", "makes 3 images"));
}

// The reference encodes one image once for all; a batch of draws would be another's.
TEST(GivenGenerators, OneForAllIsRefusedWhereAnImageIsEncoded) {
  for (const char* name : {"sd15/image2image", "sd15/inpaint"}) {
    GenerateRequest request = golden_request(name);
    request.config["num_images_per_prompt"] = 2;
    EXPECT_THAT(errors(drawing_from(request, {1})), about("inputs.generator", "makes 2 images"))
        << name;
    EXPECT_THAT(errors(drawing_from(request, {1, 2})), IsEmpty()) << name;
  }
}

TEST(GivenValues, LatentsOfARunBecomeAFileOnlyWhereOneIsNamed) {
  TemporaryFolder folder;
  GenerateRequest request = folder_request(source_path("tests/goldens/pipelines/sdxl/no_guidance"));
  request.config["output_type"] = "latent";
  const ValidateOptions named_only{.files = Files::named_only};
  RunReport report;
  engine().run(request, named_only, {}, report);
  ASSERT_EQ(report.artifacts.size(), 1);
  EXPECT_EQ(report.artifacts[0].kind, "latents");
  EXPECT_EQ(report.artifacts[0].path, "");
  request.config["output"] = folder.file("made.safetensors");
  RunReport written;
  engine().run(request, named_only, {}, written);
  EXPECT_EQ(read_latents(written.artifacts.at(0).path).values.dim(), 4);
}

}  // namespace
}  // namespace omnirt::testing
