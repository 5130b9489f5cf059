// What an engine that serves many requests reports of each, and what it keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

GenerateRequest square(int64_t side, const fs::path& folder) {
  GenerateRequest request;
  request.model = "emoji-sd";
  request.inputs["prompt"] = "a red apple";
  request.config = {{"seed", 3},
                    {"num_inference_steps", 3},
                    {"width", side},
                    {"height", side},
                    {"output_dir", folder.string()}};
  return request;
}

// `meet`: called at the run's second step, so that runs can be made to overlap.
uint64_t peak_of(Engine& engine, const GenerateRequest& request,
                 const std::function<void()>& meet = {}) {
  RunHooks hooks;
  hooks.on_step = [&](const LoopProgress& progress, const Tensor&) {
    if (meet && progress.step == 2) meet();
  };
  RunReport report;
  engine.run(request, {}, hooks, report);
  EXPECT_FALSE(report.memory.process_tensor_peak_bytes);
  return report.memory.tensor_peak_bytes.value();
}

TEST(Report, OfTwoRunsAtOnceTellsThePeakOfEach) {
  TempFolder folder;
  Engine engine(builtin_catalogue());
  GenerateRequest small = square(128, folder.path()), large = square(256, folder.path());
  for (const auto& each : {small, large}) peak_of(engine, each);  // converts the shared weights
  auto alone_small = static_cast<double>(peak_of(engine, small));
  auto alone_large = static_cast<double>(peak_of(engine, large));
  ASSERT_GT(alone_large, 2 * alone_small);
  std::barrier both(2);
  double together_small = 0, together_large = 0;
  std::thread other([&] {
    together_large = static_cast<double>(peak_of(engine, large, [&] { both.arrive_and_wait(); }));
  });
  together_small = static_cast<double>(peak_of(engine, small, [&] { both.arrive_and_wait(); }));
  other.join();
  // Small blocks of the C library may be a little longer than what was asked for.
  EXPECT_NEAR(together_small / alone_small, 1, 0.01);
  EXPECT_NEAR(together_large / alone_large, 1, 0.01);
}

TEST(Report, HasPartsThatAddUpToTheTotal) {
  RunReport report = run(square(128, TempFolder().path())).report;
  const StageTimings& t = report.timings;
  double stages = t.prepare_conditions_ms + t.prepare_latents_ms + t.denoise_loop_ms + t.decode_ms +
                  t.export_ms;
  EXPECT_EQ(report.adapters_ms, 0);
  EXPECT_NEAR(report.load_ms + report.adapters_ms + stages + report.other_ms(), report.total_ms,
              1e-6);
}

TEST(Engine, ThatIsFedNewFoldersDoesNotGrow) {
  TempFolder folder;
  Engine engine(builtin_catalogue());
  for (int i = 0; i < 30; ++i) {
    fs::path model = folder.path() / std::to_string(i);
    fs::create_directory_symlink(source_path("models/emoji-sd"), model);
    GenerateRequest request = square(128, folder.path());
    request.model = model.string();
    ASSERT_TRUE(engine.check(request).ok());
  }
  EXPECT_GT(engine.components_kept(), ComponentCache::most_idle / 2);
  // Those of the last request were in use when they were counted last.
  EXPECT_LE(engine.components_kept(), ComponentCache::most_idle + 5);
}

}  // namespace
}  // namespace omnirt::testing
