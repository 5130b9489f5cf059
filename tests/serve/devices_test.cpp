// Jobs on several devices: by the dispatcher alone, and by a server over the stub's devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "catalogue/make_session.hpp"
#include "serve/dispatcher.hpp"
#include "serve/memory_store.hpp"
#include "serve/records.hpp"
#include "serve/running_server.hpp"
#include "serve/virtual_clock.hpp"

namespace omnirt::serve {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<DeviceId> two_devices{{"cuda", 0}, {"cuda", 1}};

// A call that waits for those that share its turn.
struct DeviceStep final : SharedCall {
  bool joins(std::span<SharedCall* const>) const override { return true; }
  bool compute(std::span<SharedCall* const> all) noexcept override {
    for (SharedCall* each : all) static_cast<DeviceStep*>(each)->runs = all.size();
    return true;
  }
  size_t runs = 1;
};

// Jobs of steps, with the device of each.
struct DeviceJobs {
  explicit DeviceJobs(DispatcherLimits limits)
      : dispatcher(store, clock, limits,
                   [this](const Job& job, RunControl& control) { return run(job, control); }) {
    dispatcher.on_change = [this](const Job& job) {
      if (has_ended(job.state)) change([&] { ++ended; });
    };
  }
  JobOutcome run(const Job& job, RunControl& control) {
    control.at({"prepare_conditions", 0, 0});
    control.at({"denoise_loop", 0, 0});
    for (int64_t step = 1; step <= job.steps; ++step) {
      DeviceStep call;
      if (SharedTurn* turn = control.shared_turn()) turn->meet(call);
      const std::string device = control.device() ? control.device()->text() : "";
      change([&] {
        devices[job.id].insert(device);
        order[device].push_back(job.id);
        runs[job.id].push_back(call.runs);
      });
      if (in_step) in_step(job.id, step);
      control.at({"denoise_loop", step, job.steps});
    }
    return {one_image_result, 0};
  }
  void submit(const std::string& id, int64_t steps) {
    dispatcher.submit({.id = id, .work = "w", .request = "{}", .steps = steps});
  }
  void change(const std::function<void()>& how) {
    std::scoped_lock lock(mutex);
    how();
    changed.notify_all();
  }
  void wait(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex);
    changed.wait(lock, holds);
  }
  void wait_for_end(size_t count) {
    wait([&] { return ended >= count; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  size_t ended = 0;
  std::map<std::string, std::set<std::string>> devices;   // by job
  std::map<std::string, std::vector<std::string>> order;  // by device
  std::map<std::string, std::vector<size_t>> runs;        // of each step's batch, by job
  std::function<void(const std::string&, int64_t)> in_step;
  VirtualClock clock;
  MemoryJobStore store;
  Dispatcher dispatcher;
};

// Each waits in its first step for the other one's: with one executor this would never end.
TEST(Devices, TwoJobsComputeAtTheSameTime) {
  DeviceJobs jobs({.devices = two_devices});
  jobs.in_step = [&](const std::string&, int64_t step) {
    if (step == 1) jobs.wait([&] { return jobs.devices.size() == 2; });
  };
  jobs.submit("a", 3);
  jobs.submit("b", 3);
  jobs.dispatcher.start();
  jobs.wait_for_end(2);
  EXPECT_EQ(jobs.order["cuda:0"].size(), 3u);
  EXPECT_EQ(jobs.order["cuda:1"].size(), 3u);
}

TEST(Devices, AJobStaysWhereItBeganAndEachDeviceKeepsTheQueuesOrder) {
  DeviceJobs jobs({.queue = {.waiting = 100}, .devices = two_devices});
  for (int i = 0; i < 40; ++i) jobs.submit("job" + std::to_string(i), 2 + i % 5);
  jobs.dispatcher.start();
  jobs.wait_for_end(40);
  ASSERT_EQ(jobs.devices.size(), 40u);
  for (const auto& [id, seen] : jobs.devices) EXPECT_EQ(seen.size(), 1u) << id;
  // With nothing that arrives later the shortest goes first, and keeps its turn to its end.
  for (const auto& [device, ids] : jobs.order) {
    std::set<std::string> over;
    for (size_t i = 1; i < ids.size(); ++i) {
      if (ids[i] != ids[i - 1]) EXPECT_TRUE(over.insert(ids[i - 1]).second) << device;
    }
  }
  EXPECT_TRUE(jobs.dispatcher.drain(60'000));
  EXPECT_EQ(jobs.dispatcher.counts().computing, 0u);
}

// Runs share steps with those of their own device alone.
TEST(Devices, StepsAreSharedOnEachDevice) {
  DeviceJobs jobs(
      {.queue = {.waiting = 100}, .share_steps = ShareSteps::on, .devices = two_devices});
  for (int i = 0; i < 8; ++i) jobs.submit(std::to_string(i), 4);
  jobs.dispatcher.start();
  jobs.wait_for_end(8);
  size_t shared = 0;
  for (const auto& [id, runs] : jobs.runs) {
    for (size_t each : runs) {
      EXPECT_LE(each, 4u) << "one place of five stays free on each device";
      shared += each > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(shared, 0u);
}

TEST(Devices, WithoutAnyRequestsSayWhereTheyRun) {
  DeviceJobs jobs({});
  jobs.submit("a", 1);
  jobs.dispatcher.start();
  jobs.wait_for_end(1);
  EXPECT_THAT(jobs.devices["a"], ElementsAre(""));
}

// The stub's devices, for sessions that are made meanwhile.
class ServedDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("OMNIRT_STUB", R"({"devices": [{"bytes": 8000000000}, {"bytes": 8000000000}]})", 1);
  }
  void TearDown() override { unsetenv("OMNIRT_STUB"); }
  static std::string refusal_of(const ServerOptions& options) {
    try {
      const auto session = make_session();
      const Server refused(*session, options);
      return "";
    } catch (const InvalidRequest& error) {
      return error.what();
    }
  }
};

// While one device computes, the other one takes the next job.
TEST_F(ServedDevices, RunJobsAndAreNamedInTheReport) {
  ServerOptions options;
  options.devices = {"cpu-stub:0", "cpu-stub:1"};
  const auto session = make_session();
  const Running running(options, *session);
  auto submit = [&](int64_t steps) {
    Json request = apple(1, {{"num_inference_steps", steps}, {"width", 64}, {"height", 64}});
    request["async"] = true;
    return running.post("/v1/generate", request).json()["id"].get<std::string>();
  };
  auto ended = [&](const std::string& id) {
    running.follow(id);
    return running.get("/v1/jobs/" + id).json();
  };
  auto pixels = [&](const std::string& id) {
    return pixels_of(running.get("/v1/jobs/" + id + "/artifacts/0").body);
  };
  const std::string busy = submit(1000), other = submit(2);
  const Json job = ended(other);
  ASSERT_EQ(job["state"], "done") << job.dump();
  EXPECT_EQ(job["report"]["device"], "cpu-stub:1");
  EXPECT_FALSE(job["request"].contains("backend"));
  EXPECT_EQ(running.get("/v1/jobs/" + busy).json()["state"], "running");
  running.client().request("DELETE", "/v1/jobs/" + busy, "", "");
  EXPECT_EQ(ended(busy)["state"], "cancelled");
  // Both are idle: the first one takes it, and makes the same image.
  const std::string again = submit(2);
  EXPECT_EQ(ended(again)["report"]["device"], "cpu-stub:0");
  EXPECT_EQ(pixels(again), pixels(other));
}

TEST_F(ServedDevices, AreTheServersToChoose) {
  ServerOptions options;
  options.devices = {"cpu-stub:1"};
  const auto session = make_session();
  const Running running(options, *session);
  Json request = apple();
  request["backend"] = "cpu";
  EXPECT_THAT(running.post("/v1/validate", request).body, HasSubstr("the server chooses"));
  request["backend"] = "auto";
  EXPECT_EQ(running.post("/v1/validate", request).json()["device"], "cpu-stub:1");
  request["config"]["device_map"] = "vae=cpu";
  EXPECT_THAT(running.post("/v1/validate", request).body, HasSubstr("config.device_map"));
}

TEST_F(ServedDevices, AreRefusedByNameWhereTheyCannotServe) {
  ServerOptions options = quiet();
  options.devices = {"cpu-stub:2"};
  EXPECT_THAT(refusal_of(options), HasSubstr("backend cpu-stub has 2"));
  options.devices = {"cpu-stub:0", "cpu"};
  EXPECT_THAT(refusal_of(options), HasSubstr("is not of backend cpu-stub"));
  options.devices = {"cpu-stub", "cpu-stub:0"};
  EXPECT_THAT(refusal_of(options), HasSubstr("is given twice"));
  options.devices = {"cpu-stub:0", "cpu-stub:1"};
  options.api.memory_budget = "8GB";
  EXPECT_THAT(refusal_of(options), HasSubstr("--memory-budget"));
}

}  // namespace
}  // namespace omnirt::serve
