// Steps as callers see them: callbacks and previews.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "catalogue/support.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Steps : public ::testing::Test {
 protected:
  Steps()
      : folder_(fs::temp_directory_path() /
                ("omnirt-steps-" + std::to_string(std::random_device{}()))) {
    fs::create_directories(folder_);
  }
  ~Steps() override { fs::remove_all(folder_); }

  GenerateRequest request(int64_t steps = 4) const {
    GenerateRequest request;
    request.model = "emoji-sd";
    request.inputs["prompt"] = "a green apple";
    request.config = {{"num_inference_steps", steps},
                      {"seed", 5},
                      {"width", 64},
                      {"height", 64},
                      {"guidance_scale", 1.0},
                      {"output", (folder_ / "out.png").string()}};
    return request;
  }

  std::vector<std::string> previews() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "previews"))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  fs::path folder_;
};

// What a step is: a call of the scheduler's step(), each reported once and in order, with the
// timestep that the network received.
TEST_F(Steps, AreToldOnceAndInOrderByEveryKindOfScheduler) {
  struct Case {
    const char* scheduler;
    Json config;
    size_t calls;  // of 4 steps
  };
  for (const Case& each : std::initializer_list<Case>{{"euler-discrete", Json::object(), 4},
                                                      {"ddim", Json::object(), 4},
                                                      {"dpm-solver", Json::object(), 4},
                                                      {"unipc", Json::object(), 4},
                                                      {"euler-ancestral", Json::object(), 4},
                                                      {"heun", Json::object(), 7},
                                                      {"kdpm2", Json::object(), 7},
                                                      {"kdpm2-ancestral", Json::object(), 7},
                                                      {"pndm", {{"skip_prk_steps", true}}, 5},
                                                      {"pndm", {{"skip_prk_steps", false}}, 13}}) {
    SCOPED_TRACE(std::string(each.scheduler) + each.config.dump());
    GenerateRequest asked = request();
    asked.config["scheduler"] = each.scheduler;
    if (!each.config.empty()) asked.config["scheduler_config"] = each.config;
    std::vector<size_t> steps;
    std::vector<double> timesteps;
    size_t progressed = 0;
    RunHooks hooks;
    hooks.on_step = [&](const LoopProgress& progress, const Tensor& latents) {
      steps.push_back(progress.step);
      timesteps.push_back(progress.timestep);
      EXPECT_EQ(progress.steps, each.calls);
      EXPECT_TRUE(latents.isfinite().all().item<bool>());
    };
    hooks.progress = [&](const RunProgress& progress) { progressed += progress.loop.step > 0; };
    RunReport report;
    engine().run(asked, {}, hooks, report);
    std::vector<size_t> expected;
    for (size_t i = 1; i <= each.calls; ++i) expected.push_back(i);
    EXPECT_EQ(steps, expected);
    EXPECT_EQ(progressed, each.calls);
    EXPECT_EQ(report.denoise_steps_ms.size(), each.calls);
    Proposal proposal = engine().check(asked);
    auto scheduler = proposal.scheduler.make();
    scheduler->set_timesteps({.num_inference_steps = 4, .eta = 0.0, .mu = {}});
    EXPECT_EQ(timesteps, scheduler->timesteps());
  }
}

TEST_F(Steps, AnExceptionFromACallbackEndsTheRunAndLeavesTheEngineWhole) {
  auto ended = [&](auto&& thrower) {
    RunHooks hooks;
    hooks.on_step = [&](const LoopProgress& progress, const Tensor&) {
      if (progress.step == 2) thrower();
    };
    RunReport report;
    try {
      engine().run(request(), {}, hooks, report);
    } catch (const RunFailed& failed) {
      EXPECT_TRUE(report.error.has_value());
      EXPECT_EQ(report.denoise_steps_ms.size(), 2u);
      return std::string(failed.what());
    }
    return std::string();
  };
  EXPECT_THAT(ended([] { throw std::logic_error("out of paper"); }),
              HasSubstr("callback failed: out of paper"));
  EXPECT_THAT(ended([] { throw 42; }), HasSubstr("callback failed"));
  EXPECT_FALSE(fs::exists(folder_ / "out.png"));
  RunReport report;
  engine().run(request(), {}, {}, report);
  EXPECT_TRUE(fs::exists(folder_ / "out.png"));
}

TEST_F(Steps, PreviewsAreDrawnEverySoManySteps) {
  for (const char* decoder : {"linear", "tiny"}) {
    GenerateRequest asked = request(5);
    asked.config["num_images_per_prompt"] = 2;
    asked.config["preview_every"] = 2;
    asked.config["preview_dir"] = (folder_ / "previews").string();
    asked.config["preview_name"] = "{seed}-{index}-{step}.png";
    asked.config["preview_decoder"] = decoder;
    size_t told = 0;
    RunHooks hooks;
    hooks.on_preview = [&](const LoopProgress& progress, const PreviewImage& preview) {
      EXPECT_EQ(progress.step % 2, 0u);
      EXPECT_TRUE(fs::exists(preview.file));
      ++told;
    };
    RunReport report;
    engine().run(asked, {}, hooks, report);
    EXPECT_EQ(told, 4u);
    EXPECT_EQ(report.previews.size(), 4u);
    EXPECT_THAT(previews(),
                ::testing::ElementsAre("5-0-002.png", "5-0-004.png", "6-1-002.png", "6-1-004.png"));
    io::Image drawn = io::read_image(folder_ / "previews" / "5-0-004.png");
    EXPECT_EQ(drawn.width, 64);
    EXPECT_EQ(drawn.height, 64);
    fs::remove_all(folder_ / "previews");
  }
}

// The last step's prediction is the image's latents: its previews are near the image.
TEST_F(Steps, TheLastPreviewLooksLikeTheImage) {
  GenerateRequest asked = request(8);
  asked.config["scheduler"] = "euler-discrete";
  asked.config["guidance_scale"] = 4.0;
  asked.config["preview_every"] = 8;
  asked.config["preview_dir"] = (folder_ / "previews").string();
  asked.config["preview_name"] = "last.png";
  auto difference = [&](const char* decoder) {
    asked.config["preview_decoder"] = decoder;
    RunReport report;
    engine().run(asked, {}, {}, report);
    io::Image preview = io::read_image(folder_ / "previews" / "last.png");
    io::Image picture = io::read_image(folder_ / "out.png");
    double sum = 0;
    for (size_t i = 0; i < picture.pixels.size(); ++i)
      sum += std::abs(static_cast<double>(preview.pixels[i]) - picture.pixels[i]);
    return sum / static_cast<double>(picture.pixels.size());
  };
  EXPECT_LT(difference("tiny"), 1);  // the model's own decoder is tiny
  EXPECT_LT(difference("linear"), 40);
}

TEST_F(Steps, PreviewsThatCannotBeDrawnAreRefused) {
  auto refusal = [&](const char* key, const Json& value) {
    GenerateRequest asked = request();
    asked.config["preview_every"] = 1;
    asked.config["preview_dir"] = (folder_ / "previews").string();
    asked.config[key] = value;
    std::string text;
    for (const Finding& finding : engine().check(asked).errors) text += finding.text();
    return text;
  };
  EXPECT_EQ(refusal("preview_decoder", "linear"), "");
  EXPECT_THAT(refusal("preview_decoder", "absent"), HasSubstr("config.preview_decoder"));
  EXPECT_THAT(refusal("preview_decoder", source_path("models/emoji-sd/unet").string()),
              HasSubstr("an autoencoder is expected"));
  EXPECT_THAT(refusal("preview_name", "a/b.png"), HasSubstr("config.preview_name"));
  EXPECT_THAT(refusal("preview_name", "{steps}.png"), HasSubstr("{steps} is not a placeholder"));
  EXPECT_THAT(refusal("preview_name", "x.bmp"), HasSubstr("bmp"));
}

TEST_F(Steps, PreviewsDoNotChangeTheImage) {
  RunReport report;
  engine().run(request(), {}, {}, report);
  io::Image plain = io::read_image(folder_ / "out.png");
  GenerateRequest asked = request();
  asked.config["preview_every"] = 1;
  asked.config["preview_dir"] = (folder_ / "previews").string();
  engine().run(asked, {}, {}, report);
  EXPECT_EQ(io::read_image(folder_ / "out.png"), plain);
}

}  // namespace
}  // namespace omnirt::testing
