// Runs of the whole engine that share steps: each makes what it makes alone, whoever joins, leaves,
// is cancelled or fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>

#include "request/request.hpp"
#include "serve/dispatcher.hpp"
#include "serve/memory_store.hpp"
#include "serve/records.hpp"
#include "serve/running_server.hpp"
#include "serve/virtual_clock.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;

const std::string guided = source_path("tests/goldens/pipelines/flux2_klein_base/model").string();

Json request_of(int64_t seed, int64_t steps, const Json& config = Json::object()) {
  Json request = {{"model", guided}, {"inputs", {{"prompt", "a small red apple"}}}};
  request["config"] = {
      {"seed", seed},         {"num_inference_steps", steps}, {"width", 48},
      {"height", 32},         {"max_sequence_length", 48},    {"max_batch_rows", 100},
      {"guidance_scale", 3.0}};
  request["config"].update(config);
  return request;
}

struct Made {
  std::string pixels;
  RunReport report;
};

// Where the dispatcher's hooks are null: alone.
Made make(const Json& request, const CancelToken& cancel, SessionHooks hooks) {
  Made made;
  hooks.files = Files::where_named;
  hooks.on_artifact = [&](const Artifact& artifact) {
    for (const io::Image& image : artifact.images)
      made.pixels.append(image.pixels.begin(), image.pixels.end());
  };
  test_session().run(parse_request(request), false, cancel, hooks, made.report);
  return made;
}

std::string alone(const Json& request) {
  return make(request, CancelToken(), {}).pixels;
}

// A dispatcher over the engine, whose runs share all steps that they can.
struct Sharing {
  explicit Sharing(size_t in_flight = 5)
      : dispatcher(store, clock,
                   {.queue = {}, .in_flight = in_flight, .share_steps = ShareSteps::on},
                   [this](const Job& job, RunControl& control) { return run(job, control); }) {
    dispatcher.on_change = [this](const Job& job) {
      std::scoped_lock lock(mutex);
      ended += has_ended(job.state);
      changed.notify_all();
    };
  }
  JobOutcome run(const Job& job, RunControl& control) {
    SessionHooks hooks;
    hooks.shared_turn = [&] { return control.shared_turn(); };
    hooks.on_progress = [&](const SessionProgress& at) {
      if (on_progress) on_progress(job.id, at);
      control.at({at.stage, static_cast<int64_t>(at.step), static_cast<int64_t>(at.steps)});
    };
    Made one = make(parse_json(job.request, "a request", 10'000), control.cancel(), hooks);
    std::scoped_lock lock(mutex);
    made[job.id] = std::move(one);
    return {one_image_result, 0};
  }
  void submit(const std::string& id, const Json& request) {
    dispatcher.submit({.id = id,
                       .work = "w",
                       .request = request.dump(),
                       .steps = request["config"]["num_inference_steps"]});
    ++submitted;
  }
  void finish() {
    dispatcher.start();
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended == submitted; });
  }
  JobState state(const std::string& id) { return dispatcher.find(id)->job.state; }
  const std::vector<int64_t>& runs(const std::string& id) {
    return made.at(id).report.denoise_steps_runs;
  }

  VirtualClock clock;
  MemoryJobStore store;
  std::mutex mutex;
  std::condition_variable changed;
  size_t submitted = 0, ended = 0;
  std::map<std::string, Made> made;
  std::function<void(const std::string&, const SessionProgress&)> on_progress;
  Dispatcher dispatcher;
};

TEST(SharedSteps, RunsThatJoinAndLeaveMakeTheImagesThatTheyMakeAlone) {
  const std::vector<Json> requests{
      request_of(1, 4),
      request_of(2, 7, {{"guidance_scale", 1.0}}),
      request_of(3, 2, {{"num_images_per_prompt", 2}}),
      request_of(4, 5, {{"guidance_scale", 6.0}, {"scheduler_config", {{"shift", 2.0}}}}),
      request_of(5, 1),
      request_of(6, 6),
  };
  Sharing sharing;
  for (size_t i = 0; i < requests.size(); ++i) sharing.submit(std::to_string(i), requests[i]);
  sharing.finish();
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::string id = std::to_string(i);
    ASSERT_EQ(sharing.state(id), JobState::done);
    EXPECT_THAT(sharing.runs(id), Contains(Gt(1))) << id;
    EXPECT_EQ(sharing.made[id].pixels, alone(requests[i])) << id;
  }
}

TEST(SharedSteps, OfTheEmbeddedModelTheyHaveTheBitsThatTheyHaveAlone) {
  Sharing sharing;
  std::vector<Json> requests;
  for (int64_t i = 0; i < 4; ++i) {
    Json request = apple(i, {{"num_inference_steps", 2 + i}, {"width", 64}, {"height", 64}});
    request["model"] = source_path("models/emoji").string();
    requests.push_back(request);
    sharing.submit(std::to_string(i), request);
  }
  sharing.finish();
  EXPECT_THAT(sharing.runs("0"), ElementsAre(4, 4));
  EXPECT_THAT(sharing.runs("3"), ElementsAre(4, 4, 3, 2, 1));
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(sharing.made[std::to_string(i)].pixels, alone(requests[i])) << i;
}

TEST(SharedSteps, RunsOfOtherSizesTypesAndCachesAreComputedApart) {
  const std::vector<Json> requests{
      request_of(1, 3),
      request_of(2, 3, {{"width", 64}}),
      request_of(3, 3, {{"level", "eager"}}),
      request_of(4, 3, {{"cache", "first_block"}}),
  };
  Sharing sharing;
  for (size_t i = 0; i < requests.size(); ++i) sharing.submit(std::to_string(i), requests[i]);
  sharing.finish();
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::string id = std::to_string(i);
    ASSERT_EQ(sharing.state(id), JobState::done);
    EXPECT_THAT(sharing.runs(id), Each(1)) << id;
    EXPECT_EQ(sharing.made[id].pixels, alone(requests[i])) << id;
  }
}

TEST(SharedSteps, OneThatIsCancelledOrFailsLeavesTheOthersAlone) {
  Sharing sharing;
  sharing.on_progress = [&](const std::string& id, const SessionProgress& at) {
    if (id == "cancelled" && at.step == 2) sharing.dispatcher.cancel(id);
    if (id == "fails" && at.step == 1) throw RunFailed("as told");
  };
  sharing.submit("a", request_of(1, 5));
  sharing.submit("cancelled", request_of(2, 5));
  sharing.submit("fails", request_of(3, 5));
  sharing.submit("b", request_of(4, 5));
  sharing.finish();
  EXPECT_EQ(sharing.state("cancelled"), JobState::cancelled);
  EXPECT_EQ(sharing.state("fails"), JobState::failed);
  EXPECT_EQ(sharing.dispatcher.find("fails")->job.reason.message, "as told");
  EXPECT_THAT(sharing.runs("a"), ElementsAre(4, 3, 2, 2, 2));
  EXPECT_EQ(sharing.made["a"].pixels, alone(request_of(1, 5)));
  EXPECT_EQ(sharing.made["b"].pixels, alone(request_of(4, 5)));
}

TEST(SharedSteps, AStopEndsRunsThatShareATurn) {
  Sharing sharing;
  bool told = false;
  sharing.on_progress = [&](const std::string&, const SessionProgress& at) {
    if (at.step != 2) return;
    sharing.dispatcher.hand_back();
    std::scoped_lock lock(sharing.mutex);
    told = true;
    sharing.changed.notify_all();
  };
  for (int i = 0; i < 4; ++i) sharing.submit(std::to_string(i), request_of(i, 50));
  sharing.dispatcher.start();
  {
    std::unique_lock lock(sharing.mutex);
    sharing.changed.wait(lock, [&] { return told; });
  }
  sharing.dispatcher.stop();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(sharing.state(std::to_string(i)), JobState::queued);
}

}  // namespace
}  // namespace omnirt::serve
