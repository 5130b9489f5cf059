// What Stable Diffusion XL promises in addition to its goldens: the hand-over between models, what
// its files hold, and what is refused before any weight is read.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "io/file.hpp"
#include "pipeline/latents_file.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> told(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings)
    lines.push_back(finding.field + ": " + finding.message + " > " + finding.way_out);
  return lines;
}

Proposal checked(const GenerateRequest& request) {
  return engine().check(request, {});
}

// A file that is gone at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(fs::temp_directory_path() / ("omnirt-sdxl-" + name)) {}
  ~TemporaryFile() { fs::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

TEST(Sdxl, HandsLatentsFromTheBaseToTheRefinerAsTheReferenceDoes) {
  TemporaryFile file("latents.safetensors");
  GenerateRequest base = golden_request("sdxl/hand_over");
  base.config["output"] = file.path();
  Outcome written = run(base);
  ASSERT_EQ(written.report.artifacts.size(), 1u);
  EXPECT_EQ(written.report.artifacts[0].kind, "latents");
  EXPECT_THAT(written.report.workflow, ::testing::Not(HasSubstr("decode_latents")));
  EXPECT_TRUE(read_latents(file.path()).values.equal(written.latents_after.back()));

  GenerateRequest refiner = golden_request("sdxl_refiner/hand_over");
  refiner.inputs["latents"] = file.path();
  auto golden = read_tensors(
      source_path("tests/goldens/pipelines/sdxl_refiner/hand_over/golden.safetensors"));
  EXPECT_GT(psnr(run(refiner).image, golden.at("image"), 1.0), 60);
}

TEST(Sdxl, TellsWhenTheRefinerBeginsElsewhereThanTheBaseEnded) {
  TemporaryFile file("elsewhere.safetensors");
  write_latents(file.path(), at::zeros({1, 4, 8, 8}),
                {{"request", {{"config", {{"denoising_end", 0.6}}}}}});
  GenerateRequest refiner = golden_request("sdxl_refiner/hand_over");
  refiner.inputs["latents"] = file.path();
  EXPECT_THAT(told(checked(refiner).warnings), IsEmpty());
  refiner.config["denoising_start"] = 0.8;
  EXPECT_THAT(told(checked(refiner).warnings), Contains(HasSubstr("denoising_end 0.6")));
}

TEST(Sdxl, RefusesFilesThatHoldNoLatents) {
  GenerateRequest refiner = golden_request("sdxl_refiner/hand_over");
  TemporaryFile file("wrong.safetensors");
  auto expect = [&](const Tensor& latents, const char* message) {
    write_latents(file.path(), latents, Json::object());
    refiner.inputs["latents"] = file.path();
    EXPECT_THAT(told(checked(refiner).errors), Contains(HasSubstr(message)));
  };
  expect(at::zeros({4, 8, 8}), "{images, channels, height, width}");
  expect(at::zeros({1, 16, 8, 8}), "4 latent channels");
  expect(at::zeros({3, 4, 8, 8}), "makes 1 images");
  refiner.inputs["latents"] = source_path("README.md").string();
  EXPECT_FALSE(checked(refiner).ok());
  refiner.inputs["latents"] = "/nowhere/latents.safetensors";
  EXPECT_FALSE(checked(refiner).ok());
}

TEST(Sdxl, EveryCutOfAWalkThatEndsEarlyOrBeginsLateGivesTheBytesOfTheWholeRun) {
  for (const char* name : {"sdxl/image2image_between", "sdxl_refiner/hand_over"}) {
    TemporaryFile whole("whole.png"), parts("parts.png"), state("state.safetensors");
    GenerateRequest request = golden_request(name);
    request.config["output"] = whole.path();
    run(request);
    Plan plan = checked(request).plan;
    for (size_t i = 0; i + 1 < plan.blocks.size(); ++i) {
      SCOPED_TRACE(std::string(name) + " after " + plan.blocks[i]->name());
      GenerateRequest first = request, second;
      first.config["stop_after"] = plan.blocks[i]->name();
      first.config["state"] = state.path();
      run(first);
      second.config = {{"resume", state.path()}, {"output", parts.path()}};
      run(second);
      EXPECT_EQ(io::read_file(parts.path(), 1 << 22), io::read_file(whole.path(), 1 << 22));
    }
  }
}

struct Refused {
  const char* request;
  Json config;
  const char* finding;
};

TEST(Sdxl, RefusesBeforeAnyWeightIsRead) {
  const std::vector<Refused> refused{
      {"sdxl/text2image", {{"denoising_end", 1.5}}, "config.denoising_end: out of range"},
      {"sdxl/text2image", {{"denoising_end", 1.0}}, "between 0 and 1"},
      {"sdxl/text2image", {{"denoising_end", 0.001}}, "leaves none of the 4 steps"},
      {"sdxl/image2image",
       {{"denoising_start", 0.8}, {"denoising_end", 0.5}},
       "not before denoising_end"},
      {"sdxl/image2image", {{"denoising_start", 0.9999}}, "leaves none of the 4 steps"},
      {"sdxl/text2image", {{"original_size", {64}}}, "give [height, width]"},
      {"sdxl/text2image", {{"original_size", "64x64"}}, "a list of whole numbers"},
      {"sdxl/text2image", {{"original_size", {0, 64}}}, "config.original_size: out of range"},
      {"sdxl/text2image", {{"crops_coords_top_left", {1, 2, 3}}}, "give [top, left]"},
      {"sdxl/text2image", {{"clip_skip", 2}}, "the text encoder has 2 layers"},
      {"sdxl/text2image", {{"output_type", "pil"}}, "config.output_type: not one of"},
      {"sdxl/hand_over", {{"output", "/tmp/out.png"}}, "ends with .safetensors"},
      {"sdxl_refiner/hand_over", {{"width", 128}}, "latents are not resized"},
      {"sdxl_inpaint9/inpaint", {{"denoising_start", 0.5}}, "give a strength below 1"},
  };
  for (const Refused& each : refused) {
    GenerateRequest request = golden_request(each.request);
    request.config.update(each.config);
    EXPECT_THAT(told(checked(request).errors), Contains(HasSubstr(each.finding)))
        << each.request << " " << each.config;
  }
}

TEST(Sdxl, RefusesARefinerThatIsAskedForAnImageFromNoise) {
  GenerateRequest request = golden_request("sdxl_refiner/image2image");
  request.task = "";
  request.inputs.erase("image");
  EXPECT_THAT(told(checked(request).errors), Contains(HasSubstr("makes none from noise")));
}

TEST(Sdxl, RefusesASecondPromptThatTheRefinerHasNoEncoderFor) {
  GenerateRequest request = golden_request("sdxl_refiner/image2image");
  request.inputs["prompt_2"] = "the sea";
  EXPECT_THAT(told(checked(request).errors), Contains(HasSubstr("inputs.prompt_2: ")));
}

TEST(Sdxl, RefusesPartsThatDoNotFitEachOther) {
  GenerateRequest request = golden_request("sdxl/text2image");
  request.components["unet"] = source_path("tests/goldens/pipelines/sd15/model/unet").string();
  EXPECT_THAT(told(checked(request).errors), Contains(HasSubstr("text_time")));
  request.components["unet"] =
      source_path("tests/goldens/pipelines/sdxl_refiner/model/unet").string();
  EXPECT_THAT(told(checked(request).errors), Contains(HasSubstr("6 numbers and a pooled text")));
  GenerateRequest first = golden_request("sdxl/text2image");
  first.components["text_encoder_2"] =
      source_path("tests/goldens/pipelines/sdxl/model/text_encoder").string();
  EXPECT_FALSE(checked(first).ok());
}

struct Warned {
  const char* request;
  Json inputs;
  Json config;
  const char* finding;
};

TEST(Sdxl, TellsWhatHasNoEffect) {
  const std::vector<Warned> warned{
      {"sdxl/no_negative_prompt", {{"negative_prompt_2", "gray"}}, {}, "takes zeros for both"},
      {"sdxl/text2image", {}, {{"negative_original_size", {8, 8}}}, "both given"},
      {"sdxl/no_guidance", {}, {{"negative_original_size", {8, 8}}}, "without guidance"},
      {"sdxl/image2image", {}, {{"negative_crops_coords_top_left", {8, 8}}}, "the prompt's corner"},
      {"sdxl/text2image", {}, {{"denoising_start", 0.5}}, "has no effect without image > add"},
      {"sdxl/text2image", {}, {{"aesthetic_score", 5}}, "has no effect on task text2image"},
      {"sdxl/image2image", {}, {{"denoising_start", 0.5}}, "has no effect with denoising_start"},
      {"sdxl/text2image", {}, {{"add_watermarker", true}}, "unknown config key"},
      {"sdxl_refiner/image2image", {}, {{"target_size", {8, 8}}}, "has no effect on task"},
  };
  for (const Warned& each : warned) {
    GenerateRequest request = golden_request(each.request);
    if (each.inputs.is_object()) request.inputs.update(each.inputs);
    if (each.config.is_object()) request.config.update(each.config);
    Proposal proposal = checked(request);
    EXPECT_THAT(told(proposal.errors), IsEmpty()) << each.finding;
    EXPECT_THAT(told(proposal.warnings), Contains(HasSubstr(each.finding)));
  }
}

TEST(Sdxl, TakesWhatAFolderIsFromItsFiles) {
  auto id = [](const std::string& name) { return checked(golden_request(name)).spec->id; };
  EXPECT_EQ(id("sdxl/text2image"), "sdxl");
  EXPECT_EQ(id("sdxl_refiner/image2image"), "sdxl-refiner");
  EXPECT_EQ(id("sdxl_inpaint9/inpaint"), "sdxl-inpainting");
  EXPECT_EQ(id("sdxl_turbo/text2image"), "sdxl-turbo");
  GenerateRequest turbo = golden_request("sdxl_turbo/text2image");
  turbo.config = {{"seed", 1}};
  ConfigValues config = checked(turbo).config;
  EXPECT_EQ(config.find("guidance_scale")->value, 0.0);
  EXPECT_EQ(config.find("num_inference_steps")->value, 1);
  EXPECT_EQ(config.find("width")->value, 64);  // the UNet's sample_size
}

TEST(Sdxl, GivesEachImageOfABatchAsItWouldBeAlone) {
  GenerateRequest batch = golden_request("sdxl/text2image");
  batch.config["num_images_per_prompt"] = 3;
  Outcome together = run(batch);
  for (int64_t i = 0; i < 3; ++i) {
    GenerateRequest single = golden_request("sdxl/text2image");
    single.config["seed"] = batch.config["seed"].get<int64_t>() + i;
    EXPECT_GT(psnr(together.image.narrow(0, i, 1), run(single).image, 1.0), 80) << "picture " << i;
  }
}

TEST(Sdxl, DecodesInFullPrecisionWhereTheAutoencoderAsksForIt) {
  GenerateRequest request = golden_request("sdxl/text2image");
  request.config["dtype"] = "bf16";
  request.config["level"] = "eager";
  Outcome outcome = run(request);
  for (const PlacementReport& part : outcome.report.device_placement) {
    if (part.component != "vae" && part.component != "unet") continue;
    EXPECT_EQ(part.dtype, part.component == "vae" ? "fp32" : "bf16") << part.component;
  }
}

}  // namespace
}  // namespace omnirt::testing
