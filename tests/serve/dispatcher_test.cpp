#include "serve/dispatcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <set>

#include "serve/failing_store.hpp"
#include "serve/memory_store.hpp"
#include "serve/records.hpp"
#include "serve/virtual_clock.hpp"

namespace omnirt::serve {
namespace {
using ::testing::ElementsAre;

// Waits until a test's condition holds; the test's own timeout is the limit.
class Signal {
 public:
  void change(const std::function<void()>& how) {
    std::scoped_lock lock(mutex_);
    how();
    changed_.notify_all();
  }
  void wait(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, holds);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

// A server whose runs are steps and nothing else.
struct Jobs {
  explicit Jobs(DispatcherLimits limits = {}, RunJob run = {})
      : dispatcher(
            store, clock, limits,
            run ? std::move(run)
                : [this](const Job& job, RunControl& control) { return steps(job, control); }) {
    dispatcher.on_change = [this](const Job& job) {
      if (!has_ended(job.state)) return;
      signal.change([&] { ended.push_back(job.id); });
    };
  }
  JobOutcome steps(const Job& job, RunControl& control) {
    for (int64_t step = 1; step <= job.steps; ++step) {
      signal.change([&] { computed.push_back(job.id + std::to_string(step)); });
      if (on_step) on_step(job.id, step);
      control.at({"denoise_loop", step, job.steps});
    }
    return {one_image_result, 0};
  }
  void submit(const std::string& id, int64_t steps, int64_t deadline = 0) {
    dispatcher.submit(
        {.id = id, .work = "w", .request = "{}", .steps = steps, .deadline_in_ms = deadline});
  }
  void wait_for_end(size_t count) {
    signal.wait([&] { return ended.size() >= count; });
  }
  JobState state(const std::string& id) { return dispatcher.find(id)->job.state; }

  VirtualClock clock;
  MemoryJobStore store;
  Signal signal;
  std::vector<std::string> computed, ended;
  std::function<void(const std::string&, int64_t)> on_step;
  Dispatcher dispatcher;
};

TEST(Dispatcher, RunsJobsOneAfterTheOther) {
  Jobs jobs;
  jobs.submit("b", 3);
  jobs.submit("a", 2);
  jobs.dispatcher.start();
  jobs.wait_for_end(2);
  EXPECT_THAT(jobs.computed, ElementsAre("a1", "a2", "b1", "b2", "b3"));
  EXPECT_EQ(jobs.state("a"), JobState::done);
  EXPECT_EQ(jobs.dispatcher.find("a")->job.result, one_image_result);
}

// As another program left it in the store.
TEST(Dispatcher, AJobWhoseResultCannotBeReadIsShownAsDead) {
  Jobs jobs({}, [](const Job& job, RunControl&) -> JobOutcome {
    return {job.id == "list" ? "[]" : "no JSON", 0};
  });
  jobs.submit("list", 1);
  jobs.submit("text", 1);
  jobs.dispatcher.start();
  jobs.wait_for_end(2);
  for (const char* id : {"list", "text"}) {
    const Job job = jobs.dispatcher.find(id)->job;
    EXPECT_EQ(job.state, JobState::dead);
    EXPECT_EQ(job.reason.kind, "StoreFailed");
    EXPECT_EQ(job.result, "");
  }
  for (const JobView& each : jobs.dispatcher.list("", 9)) EXPECT_EQ(each.job.state, JobState::dead);
}

TEST(Dispatcher, AShorterJobTakesTheTurnAtTheNextStep) {
  Jobs jobs;
  jobs.on_step = [&](const std::string& id, int64_t step) {
    if (id == "long" && step == 2) jobs.submit("short", 1);
  };
  jobs.submit("long", 1000);
  jobs.dispatcher.start();
  jobs.wait_for_end(2);
  EXPECT_THAT(jobs.ended, ElementsAre("short", "long"));
  EXPECT_EQ(jobs.computed.at(2), "short1");
}

TEST(Dispatcher, OneRunComputesAtATime) {
  std::atomic<int> computing{0}, most{0};
  Jobs jobs({}, [&](const Job& job, RunControl& control) -> JobOutcome {
    for (int64_t step = 1; step <= job.steps; ++step) {
      const int now = ++computing;
      most = std::max(most.load(), now);
      --computing;
      control.at({"denoise_loop", step, job.steps});
    }
    return {one_image_result, 0};
  });
  for (int i = 0; i < 20; ++i) jobs.submit(std::to_string(i), 20 - i);
  jobs.dispatcher.start();
  jobs.wait_for_end(20);
  EXPECT_EQ(most, 1);
}

// What writes its files waits for the disk: "two" is done while "one" still does.
TEST(Dispatcher, ARunThatWritesItsFilesLetsOthersCompute) {
  Jobs jobs({}, [&](const Job& job, RunControl& control) -> JobOutcome {
    control.at({"denoise_loop", 1, 1});
    control.at({"export", 0, 0});
    if (job.id == "one") {
      jobs.submit("two", 1);
      jobs.wait_for_end(1);
      control.at({"export", 0, 0});
    }
    return {one_image_result, 0};
  });
  jobs.submit("one", 1);
  jobs.dispatcher.start();
  jobs.wait_for_end(2);
  EXPECT_THAT(jobs.ended, ElementsAre("two", "one"));
  EXPECT_EQ(jobs.dispatcher.counts().computing, 0u);
}

TEST(Dispatcher, ARunThatWritesItsFilesIsCancelledAtTheNextBlock) {
  Jobs jobs({}, [&](const Job& job, RunControl& control) -> JobOutcome {
    control.at({"export", 0, 0});
    jobs.dispatcher.cancel(job.id);
    control.at({"export", 0, 0});
    return {one_image_result, 0};
  });
  jobs.submit("one", 1);
  jobs.dispatcher.start();
  jobs.wait_for_end(1);
  EXPECT_EQ(jobs.state("one"), JobState::cancelled);
}

TEST(Dispatcher, CancelTakesHoldAtTheNextStep) {
  Jobs jobs;
  jobs.on_step = [&](const std::string&, int64_t step) {
    if (step == 2) jobs.dispatcher.cancel("one");
  };
  jobs.submit("one", 100);
  jobs.dispatcher.start();
  jobs.wait_for_end(1);
  EXPECT_EQ(jobs.state("one"), JobState::cancelled);
  EXPECT_THAT(jobs.computed, ElementsAre("one1", "one2"));
}

TEST(Dispatcher, APausedRunIsCancelledWithoutItsTurn) {
  Jobs jobs;
  jobs.on_step = [&](const std::string& id, int64_t step) {
    if (id == "long" && step == 1) jobs.submit("short", 2);
    if (id == "short" && step == 1) jobs.dispatcher.cancel("long");
    // It ends while the other has the turn.
    if (id == "short" && step == 2) jobs.wait_for_end(1);
  };
  jobs.submit("long", 100);
  jobs.dispatcher.start();
  jobs.wait_for_end(2);
  EXPECT_THAT(jobs.ended, ElementsAre("long", "short"));
  EXPECT_EQ(jobs.state("short"), JobState::done);
}

TEST(Dispatcher, WhatARunThrowsIsTheReason) {
  Jobs jobs({}, [](const Job& job, RunControl&) -> JobOutcome {
    if (job.id == "memory") throw OutOfMemory("no memory");
    throw std::runtime_error("odd");
  });
  jobs.submit("memory", 1);
  jobs.submit("odd", 1);
  jobs.dispatcher.start();
  jobs.wait_for_end(2);
  EXPECT_EQ(jobs.dispatcher.find("memory")->job.reason, (JobReason{"OutOfMemory", "no memory"}));
  EXPECT_EQ(jobs.dispatcher.find("odd")->job.reason, (JobReason{"RunFailed", "odd"}));
}

TEST(Dispatcher, EventsAreToldInOrderAndResumed) {
  Jobs jobs;
  std::vector<std::string> told, again;
  int64_t third = 0;
  jobs.submit("one", 3);
  jobs.dispatcher.listen("one", -1, [&](const JobEvent& event) {
    told.push_back(event.type);
    if (told.size() == 3) third = event.number;
  });
  jobs.dispatcher.start();
  jobs.wait_for_end(1);
  jobs.dispatcher.stop();
  EXPECT_THAT(told, ElementsAre("state", "state", "progress", "progress", "progress", "state"));
  const int64_t listener = jobs.dispatcher.listen(
      "one", third, [&](const JobEvent& event) { again.push_back(event.type); });
  EXPECT_EQ(listener, 0);
  EXPECT_THAT(again, ElementsAre("progress", "progress", "state"));
}

TEST(Dispatcher, AStopHandsBackWhatRuns) {
  Jobs jobs;
  jobs.on_step = [&](const std::string&, int64_t step) {
    if (step == 2) jobs.dispatcher.hand_back();
  };
  jobs.submit("one", 100);
  jobs.submit("two", 200);
  jobs.dispatcher.start();
  jobs.signal.wait([&] { return jobs.computed.size() == 2; });
  jobs.dispatcher.stop();
  EXPECT_EQ(jobs.state("one"), JobState::queued);
  EXPECT_EQ(jobs.computed.size(), 2u);
  JobQueue next(jobs.store, jobs.clock);
  EXPECT_EQ(next.find("one")->crashes, 0);
  EXPECT_EQ(next.waiting(), 2u);
}

TEST(Dispatcher, ADrainFinishesWhatRunsAndBeginsNothing) {
  Jobs jobs;
  jobs.on_step = [&](const std::string& id, int64_t step) {
    if (id == "one" && step == 1) std::thread([&] { jobs.dispatcher.drain(0); }).join();
  };
  jobs.submit("one", 5);
  jobs.submit("two", 6);
  jobs.dispatcher.start();
  jobs.wait_for_end(1);
  EXPECT_TRUE(jobs.dispatcher.drain(60'000));
  EXPECT_EQ(jobs.state("one"), JobState::done);
  EXPECT_EQ(jobs.state("two"), JobState::queued);
  EXPECT_THROW(jobs.submit("three", 1), QueueRefusal);
}

TEST(Dispatcher, AStoreThatFailsForAWhileDelaysAnEnd) {
  VirtualClock clock;
  MemoryJobStore disk;
  FailingStore store(disk);
  std::atomic<int> left{0};
  store.fault = [&] {
    return left > 0 && left-- > 0 ? FailingStore::Fault::before : FailingStore::Fault::none;
  };
  Signal signal;
  bool over = false;
  Dispatcher dispatcher(store, clock, {}, [&](const Job&, RunControl&) -> JobOutcome {
    left = 2;
    return {one_image_result, 0};
  });
  dispatcher.on_change = [&](const Job& job) {
    if (has_ended(job.state)) signal.change([&] { over = true; });
  };
  dispatcher.submit({.id = "one"});
  dispatcher.start();
  signal.wait([&] { return over; });
  EXPECT_EQ(dispatcher.find("one")->job.state, JobState::done);
}

// Half of many jobs are cancelled, at steps of all kinds; the others are as if alone.
TEST(Dispatcher, AStormOfCancelsLeavesTheOthersAlone) {
  Jobs jobs({.queue = {.waiting = 1000}});
  jobs.on_step = [&](const std::string& id, int64_t step) {
    const int number = std::stoi(id);
    if (number % 2 == 0 && step == number % 5 + 1) jobs.dispatcher.cancel(id);
  };
  for (int i = 0; i < 400; ++i) jobs.submit(std::to_string(i), 3 + i % 4 * 2);
  jobs.dispatcher.start();
  jobs.wait_for_end(400);
  std::set<std::string> unique(jobs.computed.begin(), jobs.computed.end());
  EXPECT_EQ(unique.size(), jobs.computed.size());
  for (int i = 1; i < 400; i += 2) EXPECT_EQ(jobs.state(std::to_string(i)), JobState::done) << i;
  EXPECT_TRUE(jobs.dispatcher.drain(60'000));
  EXPECT_EQ(jobs.dispatcher.counts().running, 0u);
  EXPECT_EQ(jobs.dispatcher.counts().computing, 0u);
}

// A call that joins all others.
struct Step final : SharedCall {
  bool joins(std::span<SharedCall* const>) const override { return true; }
  bool compute(std::span<SharedCall* const> all) noexcept override {
    for (SharedCall* each : all) static_cast<Step*>(each)->runs = all.size();
    return fits || all.size() == 1;
  }
  bool fits = true;
  size_t runs = 1;
};

// Runs whose steps are calls in shared turns, where they have one.
struct SharedJobs {
  explicit SharedJobs(ShareSteps how, size_t in_flight = 5)
      : jobs({.queue = {.waiting = 1000}, .in_flight = in_flight, .share_steps = how},
             [this](const Job& job, RunControl& control) { return run(job, control); }) {}
  JobOutcome run(const Job& job, RunControl& control) {
    control.at({"prepare_conditions", 0, 0});
    control.at({"denoise_loop", 0, 0});
    for (int64_t step = 1; step <= job.steps; ++step) {
      if (jobs.on_step) jobs.on_step(job.id, step);
      Step call;
      call.fits = fits;
      if (SharedTurn* turn = control.shared_turn()) turn->meet(call);
      jobs.signal.change([&] { runs[job.id].push_back(call.runs); });
      control.at({"denoise_loop", step, job.steps});
    }
    control.at({"decode", 0, 0});
    return {one_image_result, 0};
  }
  std::map<std::string, std::vector<size_t>> runs;  // that each step was computed with
  bool fits = true;
  Jobs jobs;
};

TEST(Dispatcher, StepsOfTheSameWorkAreComputedTogether) {
  SharedJobs shared(ShareSteps::on);
  shared.jobs.submit("short", 2);
  shared.jobs.submit("long", 4);
  shared.jobs.submit("third", 3);
  shared.jobs.dispatcher.submit({.id = "other", .work = "v", .request = "{}", .steps = 2});
  shared.jobs.dispatcher.start();
  shared.jobs.wait_for_end(4);
  EXPECT_THAT(shared.runs["short"], ElementsAre(3, 3));
  EXPECT_THAT(shared.runs["third"], ElementsAre(3, 3, 2));
  EXPECT_THAT(shared.runs["long"], ElementsAre(3, 3, 2, 1));
  EXPECT_THAT(shared.runs["other"], ElementsAre(1, 1));
}

TEST(Dispatcher, OnePlaceStaysFreeWhereStepsAreShared) {
  SharedJobs shared(ShareSteps::on, 3);
  shared.jobs.on_step = [&](const std::string& id, int64_t step) {
    if (id == "a" && step == 2)
      shared.jobs.dispatcher.submit({.id = "short", .work = "v", .request = "{}", .steps = 1});
  };
  for (const char* id : {"a", "b", "c"}) shared.jobs.submit(id, 5);
  shared.jobs.dispatcher.start();
  shared.jobs.wait_for_end(4);
  EXPECT_EQ(shared.jobs.ended.front(), "short");
  EXPECT_THAT(shared.runs["a"], ElementsAre(2, 2, 2, 2, 2));
}

TEST(Dispatcher, WhatCannotBeComputedTogetherIsTriedOnce) {
  SharedJobs shared(ShareSteps::on);
  shared.fits = false;
  shared.jobs.submit("a", 3);
  shared.jobs.submit("b", 3);
  shared.jobs.dispatcher.start();
  shared.jobs.wait_for_end(2);
  EXPECT_THAT(shared.runs["a"], ElementsAre(2, 1, 1));
}

TEST(Dispatcher, RunsAtTheSameTimeShareNoSteps) {
  Jobs jobs({.queue = {.at_once = 2}, .in_flight = 4, .share_steps = ShareSteps::on},
            [](const Job& job, RunControl& control) -> JobOutcome {
              for (int64_t step = 1; step <= job.steps; ++step) {
                EXPECT_EQ(control.shared_turn(), nullptr);
                control.at({"denoise_loop", step, job.steps});
              }
              return {one_image_result, 0};
            });
  for (int i = 0; i < 4; ++i) jobs.submit(std::to_string(i), 5);
  jobs.dispatcher.start();
  jobs.wait_for_end(4);
}

TEST(Dispatcher, AStormOfCancelsLeavesRunsThatShareStepsAlone) {
  for (ShareSteps how : {ShareSteps::on, ShareSteps::automatic}) {
    SharedJobs shared(how);
    shared.jobs.on_step = [&](const std::string& id, int64_t step) {
      const int number = std::stoi(id);
      if (number % 2 == 0 && step == number % 5 + 1) shared.jobs.dispatcher.cancel(id);
    };
    for (int i = 0; i < 200; ++i) shared.jobs.submit(std::to_string(i), 3 + i % 4 * 2);
    shared.jobs.dispatcher.start();
    shared.jobs.wait_for_end(200);
    for (int i = 1; i < 200; i += 2) {
      const std::string id = std::to_string(i);
      EXPECT_EQ(shared.jobs.state(id), JobState::done) << i;
      EXPECT_EQ(shared.runs[id].size(), static_cast<size_t>(3 + i % 4 * 2)) << i;
    }
    EXPECT_TRUE(shared.jobs.dispatcher.drain(60'000));
    EXPECT_EQ(shared.jobs.dispatcher.counts().computing, 0u);
  }
}

}  // namespace
}  // namespace omnirt::serve
