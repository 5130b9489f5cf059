// Runs on one engine from several threads, as a service has them: each makes what it makes alone,
// whatever runs in parallel. The program is built under the thread sanitizer too, so it holds only
// what a small model shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

// Batches and teams of other sizes go through other blockings of the same sums; 80 dB is the
// project's floor for that.
constexpr double picture_floor_db = 80;

GenerateRequest tiny(int64_t seed, const Json& config = Json::object()) {
  GenerateRequest request;
  request.model = source_path("tests/goldens/pipelines/sd15/model").string();
  request.inputs["prompt"] = "a red apple";
  request.config = {{"seed", seed}, {"num_inference_steps", 3}};
  request.config.update(config);
  return request;
}

GenerateRequest adapted(int64_t seed, const char* file, const char* mode) {
  GenerateRequest request = tiny(seed);
  fs::path path = source_path("tests/goldens/adapters/files") / file;
  request.adapters = Json::array({{{"path", path.string()}, {"mode", mode}}});
  return request;
}

// Of every kind that shares something with another: components, adapters merged into a copy or next
// to the weights, schedulers, sizes.
std::vector<GenerateRequest> requests() {
  return {tiny(1),
          tiny(2, {{"scheduler", "dpm-solver"}, {"num_images_per_prompt", 2}}),
          tiny(3, {{"scheduler", "euler-ancestral"}, {"level", "eager"}}),
          adapted(4, "kohya.safetensors", "merged"),
          adapted(5, "kohya.safetensors", "beside"),
          adapted(6, "lokr.safetensors", "merged")};
}

// Runs and is cancelled in its second step.
void run_cancelled(Engine& engine) {
  GenerateRequest request = tiny(7, {{"num_inference_steps", 30}});
  fs::path folder = fs::temp_directory_path() / "omnirt-concurrent-cancelled";
  request.config["output_dir"] = folder.string();
  CancelToken cancel;
  RunHooks hooks;
  hooks.cancel = &cancel;
  hooks.on_step = [&](const LoopProgress& progress, const Tensor&) {
    if (progress.step == 2) cancel.cancel();
  };
  RunReport report;
  EXPECT_THROW(engine.run(request, {}, hooks, report), Cancelled);
  fs::remove_all(folder);
}

// Is refused: by validation alone, and with an error from a run.
void run_refused(Engine& engine) {
  GenerateRequest request = tiny(8, {{"width", 3}});
  EXPECT_THAT(engine.check(request).errors, ::testing::Not(::testing::IsEmpty()));
  RunReport report;
  EXPECT_THROW(engine.run(request, {}, {}, report), InvalidRequest);
}

class Threads {
 public:
  ~Threads() {
    for (std::thread& thread : threads_) thread.join();
  }
  void start(auto work) { threads_.emplace_back(std::move(work)); }

 private:
  std::vector<std::thread> threads_;
};

TEST(ConcurrentRuns, GiveTheImagesThatEachGivesAlone) {
  std::vector<GenerateRequest> all = requests();
  std::vector<Tensor> alone;
  for (const GenerateRequest& request : all) alone.push_back(run(request).image);
  // An engine of its own, so that what is loaded first is asked for by several at once.
  Engine shared(builtin_catalogue());
  std::vector<Tensor> beside(all.size());
  {
    Threads threads;
    for (size_t i = 0; i < all.size(); ++i)
      threads.start([&, i] { beside[i] = run_on(shared, all[i]).image; });
    threads.start([&] { run_cancelled(shared); });
    threads.start([&] { run_refused(shared); });
  }
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_GT(psnr(beside[i], alone[i], 1.0), picture_floor_db) << "request " << i;
}

TEST(ConcurrentRuns, OfOneRequestShareWhatIsLoaded) {
  Engine shared(builtin_catalogue());
  std::vector<Tensor> pictures(4);
  {
    Threads threads;
    for (Tensor& picture : pictures)
      threads.start([&] { picture = run_on(shared, tiny(1)).image; });
  }
  for (const Tensor& picture : pictures)
    EXPECT_GT(psnr(picture, pictures.front(), 1.0), picture_floor_db);
}

}  // namespace
}  // namespace omnirt::testing
