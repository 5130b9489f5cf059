// What users may rely on whatever the model: repeatability, batches, concurrency, cancellation,
// truthful reports.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "engine/plugins.hpp"
#include "io/file.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

GenerateRequest emoji(const std::string& prompt, int64_t seed, int64_t steps = 6) {
  GenerateRequest request;
  request.model = "emoji-sd";
  request.inputs["prompt"] = prompt;
  request.config = {{"seed", seed}, {"num_inference_steps", steps}};
  return request;
}

TEST(Run, GivesTheSameBytesForTheSameRequest) {
  fs::path file = fs::temp_directory_path() / "omnirt-same-bytes.png";
  std::string first;
  for (int i = 0; i < 2; ++i) {
    GenerateRequest request = emoji("a red apple", 3);
    request.config["output"] = file.string();
    RunReport report;
    engine().run(request, {}, {}, report);
    std::string bytes = io::read_file(file, 1 << 20);
    if (i == 0)
      first = bytes;
    else
      EXPECT_EQ(first, bytes);
  }
  fs::remove(file);
}

TEST(Run, GivesEachImageOfABatchAsItWouldBeAlone) {
  GenerateRequest batch = emoji("a castle", 4);
  batch.config["num_images_per_prompt"] = 4;
  batch.config["scheduler"] = "euler-ancestral";
  Outcome together = run(batch);
  ASSERT_EQ(together.image.size(0), 4);
  for (int64_t i = 0; i < 4; ++i) {
    GenerateRequest single = emoji("a castle", 4 + i);
    single.config["scheduler"] = "euler-ancestral";
    // Batches go through other blockings of the same sums; 80 dB is the project's floor for that.
    EXPECT_GT(psnr(together.image.narrow(0, i, 1), run(single).image, 1.0), 80) << "picture " << i;
  }
}

TEST(Run, GivesTwoThreadsOnOnePipelineTheImagesThatEachGetsAlone) {
  GenerateRequest a = emoji("a rocket", 1), b = emoji("a sunflower", 2);
  a.config["scheduler"] = "dpm-solver";
  b.config.update({{"scheduler", "ddim"}, {"width", 192}});
  Tensor a_alone = run(a).image, b_alone = run(b).image, a_beside, b_beside;
  std::thread first([&] { a_beside = run(a).image; });
  std::thread second([&] { b_beside = run(b).image; });
  first.join();
  second.join();
  EXPECT_GT(psnr(a_beside, a_alone, 1.0), 80);
  EXPECT_GT(psnr(b_beside, b_alone, 1.0), 80);
}

TEST(Run, EndsWithinAStepOfBeingCancelledAndLeavesNoFile) {
  fs::path folder = fs::temp_directory_path() / "omnirt-cancelled";
  fs::create_directories(folder);
  GenerateRequest request = emoji("a panda", 1, 30);
  request.config["output"] = (folder / "panda.png").string();
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
  EXPECT_TRUE(fs::is_empty(folder));
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->kind, "Cancelled");
  fs::remove_all(folder);
}

TEST(Run, TellsEveryStepInOrder) {
  std::vector<size_t> steps;
  RunHooks hooks;
  hooks.on_step = [&](const LoopProgress& progress, const Tensor&) {
    steps.push_back(progress.step);
  };
  GenerateRequest request = emoji("a panda", 1, 5);
  request.config["output_dir"] = (fs::temp_directory_path() / "omnirt-steps").string();
  RunReport report;
  engine().run(request, {}, hooks, report);
  EXPECT_THAT(steps, ::testing::ElementsAre(1, 2, 3, 4, 5));
  fs::remove_all(fs::temp_directory_path() / "omnirt-steps");
}

TEST(Run, DrawsAndReportsASeedThatGivesTheImageAgain) {
  GenerateRequest request = emoji("a dog face", 0, 2);
  request.config.erase("seed");
  Outcome drawn = run(request);
  const ConfigValue* seed = drawn.report.config_resolved.find("seed");
  ASSERT_TRUE(seed);
  EXPECT_EQ(seed->origin, Origin::drawn);
  request.config["seed"] = seed->value;
  EXPECT_EQ(psnr(run(request).image, drawn.image, 1.0), INFINITY);
}

TEST(Run, WritesTheRequestThatMakesTheImageIntoTheFile) {
  fs::path file = fs::temp_directory_path() / "omnirt-record.png";
  GenerateRequest request = emoji("a \"quoted\" caf\u00e9", 3, 2);
  request.config["output"] = file.string();
  RunReport report;
  engine().run(request, {}, {}, report);
  io::ImageMetadata metadata = io::read_image_metadata(file);
  GenerateRequest record =
      parse_request(parse_json(metadata.at(io::request_metadata_key), "metadata"));
  EXPECT_EQ(record.inputs["prompt"], request.inputs["prompt"]);
  EXPECT_EQ(record.config["seed"], 3);
  EXPECT_GT(psnr(run(record).image, run(request).image, 1.0), 200);
  fs::remove(file);
}

// Frames of a video are larger than all else in a run: what has no reader must not stay.
TEST(Run, DropsValuesAfterTheirLastReader) {
  std::map<std::string, std::set<std::string>> held;
  RunHooks hooks;
  hooks.on_block = [&](const std::string& block, const Frame& frame) {
    for (const auto& [condition, values] : frame.values())
      for (const auto& [name, value] : values) held[block].insert(name);
  };
  TemporaryFolder folder;
  GenerateRequest request = emoji("a castle", 4);
  request.config["output_dir"] = folder.path().string();
  RunReport report;
  engine().run(request, {}, hooks, report);
  EXPECT_TRUE(held.at("denoise").contains("prompt_embeds"));
  EXPECT_FALSE(held.at("decode_latents").contains("prompt_embeds"));
  EXPECT_FALSE(held.at("decode_latents").contains("decoded_images")) << "nobody reads them";
  EXPECT_TRUE(held.at("decode_latents").contains("images"));
  EXPECT_FALSE(held.at("export_images").contains("latents"));
  EXPECT_EQ(report.artifacts.size(), 1u);
}

TEST(StepCache, GivesTheImageWhateverTheBatches) {
  GenerateRequest request = emoji("a rocket", 3, 5);
  request.config.update({{"num_images_per_prompt", 2}, {"cache", "deep"}, {"cache_interval", 2}});
  Tensor together = run(request).image;
  for (int64_t rows : {1, 3}) {
    request.config["max_batch_rows"] = rows;
    // Batches go through other blockings of the same sums; 80 dB is the project's floor for that.
    EXPECT_GT(psnr(run(request).image, together, 1.0), 80) << rows << " rows";
  }
}

TEST(StepCache, TellsHowManyStepsWereFull) {
  GenerateRequest request = emoji("a rocket", 3, 7);
  EXPECT_FALSE(run(request).report.step_cache);
  request.config["cache"] = "deep";
  RunReport report = run(request).report;
  ASSERT_TRUE(report.step_cache);
  EXPECT_EQ(report.step_cache->full_steps, 3u);
  EXPECT_EQ(report.step_cache->cached_steps, 4u);
}

TEST(StepCache, WithIntervalOneIsTheRunWithoutIt) {
  GenerateRequest request = emoji("a rocket", 3, 3);
  Tensor plain = run(request).image;
  request.config.update({{"cache", "deep"}, {"cache_interval", 1}});
  EXPECT_EQ(psnr(run(request).image, plain, 1.0), INFINITY);
}

TEST(Report, TimesEveryStepAndTellsWhatWasKeptBetweenThem) {
  RunReport report = run(emoji("a fox", 1, 3)).report;
  ASSERT_EQ(report.denoise_steps_ms.size(), 3u);
  double steps = 0;
  for (double ms : report.denoise_steps_ms) {
    EXPECT_GT(ms, 0);
    steps += ms;
  }
  EXPECT_LE(steps, report.timings.denoise_loop_ms);
  ASSERT_TRUE(report.first_step_ms);
  EXPECT_GT(*report.first_step_ms, report.timings.prepare_conditions_ms);
  EXPECT_LT(*report.first_step_ms, report.total_ms);
  EXPECT_GT(report.memory.kept_between_steps_bytes, 0u);
}

TEST(Report, TimesEveryStageAndTellsWhereEachComponentRan) {
  RunReport report = run(emoji("a fox", 1, 3)).report;
  EXPECT_GT(report.timings.prepare_conditions_ms, 0);
  EXPECT_GT(report.timings.denoise_loop_ms, 0);
  EXPECT_GT(report.timings.decode_ms, 0);
  EXPECT_GT(report.timings.export_ms, 0);
  ASSERT_EQ(report.backend_timeline.size(), 3u);
  for (const TimelineReport& entry : report.backend_timeline) {
    ASSERT_FALSE(entry.attempts.empty());
    EXPECT_TRUE(entry.attempts.back().selected);
    for (const AttemptReport& attempt : entry.attempts) EXPECT_FALSE(attempt.reason.empty());
  }
  EXPECT_TRUE(report.latent_stats);
  EXPECT_GT(report.memory.tensor_peak_bytes, 0u);
  EXPECT_EQ(report.device_placement.size(), 3u);
  EXPECT_EQ(report.device_placement.front().stored_dtype, "fp16");
}

// Plug-ins are held against it together with what is built in.
TEST(Registry, OfThisBuildHoldsNothingTwice) {
  for (const Finding& finding : check_catalogue(builtin_catalogue()))
    ADD_FAILURE() << finding.text();
}

TEST(Registry, EveryEntrysExampleIsOfAModelAndTaskThatAreThere) {
  const Catalogue& catalogue = engine().catalogue();
  for (const Family& family : catalogue.families) {
    for (const ModelSpec& entry : family.entries) {
      if (!entry.alias_of.empty()) {
        EXPECT_TRUE(catalogue.find_entry(entry.id, entry.task)) << entry.id;
        continue;
      }
      EXPECT_FALSE(entry.summary.empty()) << entry.id;
    }
  }
}

TEST(Blocks, EveryWorkflowIsComplete) {
  for (const Family& family : engine().catalogue().families) {
    for (const TaskInputs& task : family.tasks) {
      Facts facts;
      facts.inputs = task.inputs;
      Plan plan = make_plan(family.blocks, facts,
                            {{"cond", {}}, {"uncond", {{"prompt", "negative_prompt"}}}});
      for (const Finding& problem : plan.problems)
        ADD_FAILURE() << task.task << ": " << problem.text();
      EXPECT_FALSE(plan.inputs.empty());
    }
  }
}

}  // namespace
}  // namespace omnirt::testing
