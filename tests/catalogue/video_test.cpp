// Stable Video Diffusion against diffusers, stage by stage, over tiny folders
// (tools/goldens/svd.py), and what users may rely on of videos.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blocks/export_video.hpp"
#include "blocks/video_frames.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "families/svd/blocks.hpp"
#include "io/image.hpp"
#include "io/temp_folder.hpp"
#include "request/validate.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// As for images (goldens_test.cpp): the same maths in another order of additions.
constexpr double embeds_tolerance = 2e-5;
constexpr double latents_tolerance = 1e-3;
constexpr double picture_floor_db = 60;

const fs::path& videos() {
  static const fs::path folder = source_path("tests/goldens/videos");
  return folder;
}

struct VideoOutcome {
  RunReport report;
  Tensor image_embeds, first_latents, initial_latents;
  std::map<size_t, Tensor> latents_after;  // by call of the network, over all chunks
  std::vector<double> timesteps;
  std::vector<LoopProgress> steps;
  Tensor frames;  // {frames of all videos, 3, H, W} in 0..1
};

VideoOutcome run_video(GenerateRequest request) {
  TempFolder folder;
  if (!request.config.contains("output")) request.config["output_dir"] = folder.path().string();
  if (!request.config.contains("output_format")) request.config["output_format"] = "frames";
  VideoOutcome outcome;
  RunHooks hooks;
  hooks.on_step = [&](const LoopProgress& progress, const Tensor& latents) {
    outcome.latents_after[outcome.steps.size()] = latents.clone();
    outcome.timesteps.push_back(progress.timestep);
    outcome.steps.push_back(progress);
  };
  std::vector<Tensor> chunks;
  // Blocks that prepare a chunk run again for each: the first one's values are kept.
  hooks.on_block = [&](const std::string& block, const Frame& frame) {
    if (block == "encode_first_images" && !outcome.image_embeds.defined())
      outcome.image_embeds = frame.peek<Tensor>("prompt_embeds", "cond")->clone();
    if (block == "encode_first_latents" && !outcome.first_latents.defined())
      outcome.first_latents = frame.peek<Tensor>("first_latents")->clone();
    if (block == "prepare_video_latents" && !outcome.initial_latents.defined())
      outcome.initial_latents = frame.peek<Tensor>("latents")->clone();
    if (block == "decode_frames") chunks.push_back(*frame.peek<Tensor>("decoded_images"));
  };
  hooks.reads = {"decoded_images"};
  engine().run(request, {}, hooks, outcome.report);
  outcome.frames = (at::cat(chunks, 1).flatten(0, 1) * 0.5 + 0.5).clamp(0, 1);
  return outcome;
}

void expect_equal(const VideoOutcome& outcome, const std::map<std::string, Tensor>& golden) {
  EXPECT_LT(relative_error(outcome.image_embeds, golden.at("image_embeds")), embeds_tolerance);
  EXPECT_LT(relative_error(outcome.first_latents, golden.at("image_latents")), embeds_tolerance);
  EXPECT_LT(relative_error(outcome.initial_latents, golden.at("initial_latents")), 1e-6);
  Tensor timesteps = golden.at("timesteps");
  ASSERT_EQ(static_cast<size_t>(timesteps.numel()), outcome.timesteps.size());
  for (size_t i = 0; i < outcome.timesteps.size(); ++i)
    EXPECT_NEAR(outcome.timesteps[i], timesteps[static_cast<int64_t>(i)].item<double>(), 1e-5);
  for (const auto& [name, expected] : golden) {
    constexpr std::string_view prefix = "latents_after_step_";
    if (!name.starts_with(prefix)) continue;
    const Tensor& got = outcome.latents_after.at(std::stoul(name.substr(prefix.size())));
    EXPECT_LT(relative_error(got, expected), latents_tolerance) << name;
  }
  EXPECT_GT(psnr(outcome.frames, golden.at("image"), 1.0), picture_floor_db);
}

struct Case {
  std::string name;
  fs::path folder;
};

void PrintTo(const Case& golden, std::ostream* out) {
  *out << golden.name;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& model : fs::directory_iterator(videos())) {
    if (!model.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(model.path())) {
      if (fs::exists(entry.path() / "request.json"))
        all.push_back({model.path().filename().string() + "_" + entry.path().filename().string(),
                       entry.path()});
    }
  }
  std::ranges::sort(all, {}, &Case::name);
  return all;
}

class GoldenVideo : public ::testing::TestWithParam<Case> {};

void expect_golden_at(const Case& golden, const char* level) {
  GenerateRequest request = folder_request(golden.folder);
  request.config["level"] = level;
  expect_equal(run_video(request), read_tensors(golden.folder / "golden.safetensors"));
}

TEST_P(GoldenVideo, GivesTheReferencesFramesStageByStage) {
  expect_golden_at(GetParam(), "eager");
}

TEST_P(GoldenVideo, GivesTheReferencesFramesByTheKernels) {
  expect_golden_at(GetParam(), "compile");
}

INSTANTIATE_TEST_SUITE_P(AllGoldens, GoldenVideo, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(FirstImages, AreResizedAsTheReferenceDoesIt) {
  auto golden = read_tensors(videos() / "resize.safetensors");
  for (const char* name : {"down", "up", "mixed"}) {
    const Tensor& image = golden.at(fmt::format("in.{}", name));
    const Tensor& expected = golden.at(fmt::format("out.{}", name));
    Tensor resized = families::resize_with_antialiasing(image, expected.size(2));
    EXPECT_LT(relative_error(resized, expected), 1e-5) << name;
  }
}

// A run of the least work.
GenerateRequest small_request() {
  GenerateRequest request;
  request.model = (videos() / "svd_flat" / "model").string();
  request.inputs["image"] = (videos() / "in.png").string();
  request.config = {
      {"width", 16}, {"height", 16}, {"num_inference_steps", 2}, {"num_frames", 2}, {"seed", 5}};
  return request;
}

TEST(Video, TellsEveryStepOfEveryChunkInOrder) {
  GenerateRequest request = small_request();
  request.config["num_chunks"] = 3;
  VideoOutcome outcome = run_video(request);
  ASSERT_EQ(outcome.steps.size(), 6u);
  for (size_t i = 0; i < outcome.steps.size(); ++i) {
    EXPECT_EQ(outcome.steps[i].step, i + 1);
    EXPECT_EQ(outcome.steps[i].steps, 6u);
  }
  EXPECT_EQ(outcome.frames.size(0), 6);
  EXPECT_EQ(outcome.report.denoise_steps_ms.size(), 6u);
  // Blocks inside the loop are timed in their own stages.
  EXPECT_GT(outcome.report.timings.prepare_latents_ms, 0);
  EXPECT_GT(outcome.report.timings.decode_ms, 0);
}

TEST(Video, OfOneChunkIsTheVideoWithoutChunks) {
  GenerateRequest request = small_request();
  Tensor plain = run_video(request).frames;
  request.config["num_chunks"] = 1;
  EXPECT_TRUE(at::equal(run_video(request).frames, plain));
}

TEST(Video, BeginsWithTheSameChunkHoweverManyFollow) {
  GenerateRequest request = small_request();
  Tensor plain = run_video(request).frames;
  request.config["num_chunks"] = 2;
  EXPECT_TRUE(at::equal(run_video(request).frames.narrow(0, 0, 2), plain));
}

TEST(Video, OfChunksIsTheSameUnderEveryOffloadPlan) {
  GenerateRequest request = small_request();
  request.config["num_chunks"] = 2;
  Tensor plain = run_video(request).frames;
  for (const char* offload : {"component", "group", "leaf"}) {
    request.config["offload"] = offload;
    EXPECT_TRUE(at::equal(run_video(request).frames, plain)) << offload;
  }
}

TEST(Video, OfABatchIsWhatItsSeedGivesAlone) {
  GenerateRequest request = small_request();
  request.config["num_videos_per_prompt"] = 2;
  Tensor both = run_video(request).frames;
  request.config["num_videos_per_prompt"] = 1;
  request.config["seed"] = 6;
  Tensor second = run_video(request).frames;
  EXPECT_GT(psnr(both.narrow(0, 2, 2), second, 1.0), 80);
}

TEST(Video, StopsWithinAStepOfALaterChunkAndLeavesNoFile) {
  TempFolder folder;
  GenerateRequest request = small_request();
  request.config.update({{"num_chunks", 3}, {"output", (folder.path() / "clip.mp4").string()}});
  CancelToken cancel;
  size_t steps = 0;
  RunHooks hooks;
  hooks.cancel = &cancel;
  hooks.on_step = [&](const LoopProgress& progress, const Tensor&) {
    steps = progress.step;
    if (steps == 3) cancel.cancel();
  };
  RunReport report;
  EXPECT_THROW(engine().run(request, {}, hooks, report), Cancelled);
  EXPECT_EQ(steps, 3u);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Video, IsReportedWithItsFramesAndSpeed) {
  TempFolder folder;
  for (const char* name : {"clip.mp4", "clip.gif", "clip.webp", "clip"}) {
    GenerateRequest request = small_request();
    request.config.update({{"output", (folder.path() / name).string()}, {"fps", 12}});
    request.config.erase("output_format");
    RunReport report;
    engine().run(request, {}, {}, report);
    ASSERT_EQ(report.artifacts.size(), 1u);
    const ArtifactReport& made = report.artifacts.front();
    EXPECT_TRUE(fs::exists(made.path)) << made.path;
    EXPECT_EQ(made.kind, "video");
    EXPECT_EQ(made.frames, 2);
    EXPECT_EQ(made.fps, 12);
    EXPECT_EQ(made.width, 16);
    EXPECT_EQ(made.seed, 5u);
  }
}

TEST(Video, CarriesTheRequestThatMakesItAgain) {
  TempFolder folder;
  GenerateRequest request = small_request();
  request.config.update({{"output", (folder.path() / "clip").string()},
                         {"output_format", "frames"},
                         {"num_chunks", 2}});
  RunReport report;
  engine().run(request, {}, {}, report);
  auto metadata = io::read_image_metadata(folder.path() / "clip" / "000003.png");
  GenerateRequest record =
      parse_request(parse_json(metadata.at(io::request_metadata_key), "metadata"));
  EXPECT_EQ(record.task, "image2video");
  EXPECT_EQ(record.config["num_chunks"], 2);
  record.model = request.model;  // the folder of a model that the record names by its id
  GenerateRequest again = request;
  again.config.erase("output");
  EXPECT_TRUE(at::equal(run_video(record).frames, run_video(again).frames));
}

std::string findings(const GenerateRequest& request) {
  std::string text;
  Proposal proposal = validate(engine().catalogue(), request);
  for (const Finding& finding : proposal.errors) text += finding.text() + "\n";
  for (const Finding& finding : proposal.warnings) text += finding.text() + "\n";
  return text;
}

TEST(VideoRequest, IsRefusedBeforeAnyWeightIsRead) {
  auto with = [](const Json& config) {
    GenerateRequest request = small_request();
    request.config.update(config);
    return findings(request);
  };
  EXPECT_EQ(with(Json::object()), "");
  EXPECT_THAT(with({{"guidance_scale", 3}}), HasSubstr("min_guidance_scale"));
  EXPECT_THAT(with({{"output_format", "png"}}), HasSubstr("mp4"));
  EXPECT_THAT(with({{"output", "clip.avi"}}), HasSubstr(".avi"));
  EXPECT_THAT(with({{"output", "clip.gif"}, {"output_format", "mp4"}}), HasSubstr("disagrees"));
  EXPECT_THAT(with({{"cache", "deep"}}), ::testing::Not(HasSubstr("unknown")));
  EXPECT_THAT(with({{"num_frames", 0}}), HasSubstr("num_frames"));
  EXPECT_THAT(with({{"num_chunks", 99}}), HasSubstr("num_chunks"));
  EXPECT_THAT(with({{"motion_bucket", 3}}), HasSubstr("motion_bucket_id"));
  GenerateRequest prompted = small_request();
  prompted.inputs["prompt"] = "a cat";
  EXPECT_THAT(findings(prompted), HasSubstr("prompt"));
  GenerateRequest guided = small_request();
  guided.guider = {{"type", "frame_cfg"}, {"max_guidance_scale", 2.0}};
  EXPECT_EQ(findings(guided), "");
  guided.config["max_guidance_scale"] = 3.0;
  EXPECT_THAT(findings(guided), HasSubstr("together with a guider"));
}

TEST(VideoRequest, BringsNoiseForOneChunk) {
  GenerateRequest request = folder_request(videos() / "svd" / "given_noise");
  EXPECT_EQ(findings(request), "");
  request.config["num_chunks"] = 2;
  EXPECT_THAT(findings(request), AllOf(HasSubstr("inputs.latents"), HasSubstr("num_chunks")));
}

// Latents in place of all that would make them.
class GiveLatents final : public Block {
 public:
  Input<io::Image> image{this, "image", "not used"};
  Config<int64_t> decode_chunk_size{this, keys::decode_chunk_size};
  Output<Tensor> latents{this, video_slots::latents};
  Output<std::vector<uint64_t>> seeds{this, video_slots::seeds};

  explicit GiveLatents(Tensor given)
      : Block("give_latents", Stage::prepare_latents), given_(std::move(given)) {}
  void run(Frame& frame) const override {
    frame[latents] = given_;
    frame[seeds] = {7};
  }
  void check(Checks& checks) const override {
    checks.settle(decode_chunk_size, int64_t{2}, Origin::derived);
  }

 private:
  Tensor given_;
};

// The frames that DecodeFrames makes of a golden's latents with Wan's autoencoder.
Tensor decoded_by_wan(const Json& config) {
  const fs::path vae = source_path("tests/goldens/networks/qwen_image_vae");
  Catalogue catalogue = builtin_catalogue();
  const Tensor latents = read_tensors(vae / "video_decode.safetensors").at("in.latents");
  Family& svd = *std::ranges::find(catalogue.families, "svd", &Family::name);
  svd.blocks = {std::make_shared<GiveLatents>(latents.unsqueeze(0)),
                std::make_shared<blocks::DecodeFrames>(), std::make_shared<blocks::ExportVideo>()};
  Engine engine(std::move(catalogue));
  TempFolder folder;
  GenerateRequest request = folder_request(videos() / "svd" / "given_noise");
  request.inputs.erase("latents");
  request.components["vae"] = vae.string();
  request.config = config;
  request.config["output_dir"] = folder.path().string();
  request.config["output_format"] = "frames";
  request.config["output_fps"] = 8;
  Tensor frames;
  RunHooks hooks;
  hooks.reads = {"decoded_images"};
  hooks.on_block = [&](const std::string& block, const Frame& frame) {
    if (block == "decode_frames") frames = *frame.peek<Tensor>("decoded_images");
  };
  RunReport report;
  engine.run(request, {}, hooks, report);
  return frames.squeeze(0).clamp(-1, 1);
}

// A latent frame of four frames needs what the chunk before left on the device.
TEST(Video, IsDecodedInChunksByAnAutoencoderWithATimeFactor) {
  const Tensor golden =
      read_tensors(source_path("tests/goldens/networks/qwen_image_vae/video_decode.safetensors"))
          .at("out.frames");
  const Tensor made = decoded_by_wan(Json::object());
  ASSERT_EQ(made.sizes(), golden.sizes());
  EXPECT_GT(psnr(made, golden, 2.0), picture_floor_db);
  EXPECT_TRUE(decoded_by_wan({{"offload", "leaf"}}).equal(made));
}

TEST(VideoRequest, RefusesAnAutoencoderWithATimeFactor) {
  GenerateRequest request = small_request();
  request.components["vae"] = source_path("tests/goldens/networks/qwen_image_vae");
  EXPECT_THAT(findings(request), HasSubstr("vae.temporal_factor"));
}

TEST(VideoRequest, MayNameAnyGuider) {
  GenerateRequest request = small_request();
  request.guider = {
      {"type", "frame_cfg"}, {"min_guidance_scale", 2.5}, {"max_guidance_scale", 2.5}};
  Tensor even = run_video(request).frames;
  request.guider = {{"type", "cfg"}, {"guidance_scale", 2.5}};
  EXPECT_GT(psnr(run_video(request).frames, even, 1.0), 80);
}

}  // namespace
}  // namespace omnirt::testing
