#include "serve/job_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/failing_store.hpp"
#include "serve/memory_store.hpp"
#include "serve/virtual_clock.hpp"

namespace omnirt::serve {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ServerQueue {
  explicit ServerQueue(QueueLimits limits = {}) : queue(store, clock, limits) {}

  const Job& submit(const std::string& id, int64_t steps = 10, const std::string& client = "a",
                    Priority priority = Priority::normal, int64_t deadline = 0) {
    return queue.submit({.id = id,
                         .client = client,
                         .model = "m",
                         .work = "w",
                         .request = "{}",
                         .priority = priority,
                         .steps = steps,
                         .deadline_in_ms = deadline});
  }
  void step(const Lease& lease, int64_t step, int64_t steps, int64_t ms = 100) {
    clock.now += ms;
    queue.progress(lease, {"denoise_loop", step, steps}, static_cast<double>(ms));
  }
  // Runs a job from its beginning to its end.
  void run(const std::string& id, int64_t steps, int64_t ms = 100) {
    const Lease lease = queue.lease(id);
    for (int64_t i = 1; i <= steps; ++i) step(lease, i, steps, ms);
    EXPECT_TRUE(queue.finish(lease, "{}", 0));
  }
  std::string first() { return queue.first(true, {}); }
  JobState state(const std::string& id) { return queue.find(id)->state; }

  VirtualClock clock;
  MemoryJobStore store;
  JobQueue queue;
};

TEST(JobQueue, AJobIsQueuedRunsAndIsDone) {
  ServerQueue server;
  EXPECT_EQ(server.submit("one").state, JobState::queued);
  const Lease lease = server.queue.lease("one");
  EXPECT_EQ(server.state("one"), JobState::running);
  EXPECT_TRUE(server.queue.progress(lease, {"denoise_loop", 1, 10}, 5));
  EXPECT_EQ(server.queue.progress_of("one")->step, 1);
  EXPECT_TRUE(server.queue.finish(lease, R"({"ok":true})", 7));
  EXPECT_EQ(server.state("one"), JobState::done);
  EXPECT_EQ(server.queue.result("one"), R"({"ok":true})");
  EXPECT_EQ(server.store.load().at(0).state, JobState::done);
}

TEST(JobQueue, TextsOfAnEndedJobTakeNoMemory) {
  ServerQueue server;
  for (const char* id : {"done", "cancelled"})
    server.queue.submit({.id = id, .work = "w", .request = std::string(1000, ' ')});
  server.queue.finish(server.queue.lease("done"), std::string(1000, ' '), 0);
  server.queue.cancel("cancelled");
  for (const auto& [id, job] : server.queue.jobs()) {
    EXPECT_LT(job.request.capacity(), 100u) << id;
    EXPECT_LT(job.result.capacity(), 100u) << id;
  }
  EXPECT_EQ(server.queue.result("done").size(), 1000u);
}

TEST(JobQueue, AJobEndsOnce) {
  ServerQueue server;
  server.submit("one");
  const Lease lease = server.queue.lease("one");
  EXPECT_TRUE(server.queue.fail(lease, {"OutOfMemory", "no memory"}));
  EXPECT_FALSE(server.queue.finish(lease, "{}", 0));
  EXPECT_FALSE(server.queue.progress(lease, {}, 0));
  EXPECT_EQ(server.state("one"), JobState::failed);
  EXPECT_EQ(server.queue.find("one")->reason.kind, "OutOfMemory");
}

TEST(JobQueue, AnEarlierLeaseOfAJobIsVoid) {
  ServerQueue server;
  server.submit("one");
  const Lease before = server.queue.lease("one");
  EXPECT_TRUE(server.queue.release(before));
  const Lease now = server.queue.lease("one");
  EXPECT_FALSE(server.queue.finish(before, "{}", 0));
  EXPECT_TRUE(server.queue.finish(now, "{}", 0));
}

TEST(JobQueue, AFullQueueRefusesWithTheTimeThatAPlaceTakes) {
  ServerQueue server({.waiting = 2});
  server.submit("timed", 10);
  server.run("timed", 10, 200);
  server.submit("one", 10);
  server.submit("two", 10);
  try {
    server.submit("three", 10);
    FAIL() << "it was accepted";
  } catch (const QueueRefusal& refusal) {
    EXPECT_EQ(refusal.kind(), "QueueFull");
    EXPECT_EQ(refusal.retry_after_ms, 2000);
  }
  EXPECT_EQ(server.queue.find("three"), nullptr);
  EXPECT_EQ(server.store.load().size(), 3u);
}

TEST(JobQueue, AClientMayHaveSoManyJobs) {
  ServerQueue server;
  auto submit = [&](const std::string& id, const std::string& client) {
    server.queue.submit({.id = id, .client = client, .client_jobs = 1});
  };
  submit("one", "a");
  EXPECT_THROW(submit("two", "a"), QueueRefusal);
  submit("three", "b");
  server.queue.cancel("one");
  submit("four", "a");
}

TEST(JobQueue, TheShortestRemainingTimeGoesFirst) {
  ServerQueue server;
  server.submit("long", 50);
  server.submit("short", 4);
  EXPECT_EQ(server.first(), "short");
  const Lease lease = server.queue.lease("long");
  server.step(lease, 48, 50);
  const std::vector<std::string> paused{"long"};
  EXPECT_EQ(server.queue.first(true, paused), "long");
}

TEST(JobQueue, ByArrivalTheFirstGoesFirst) {
  ServerQueue server({.order = JobOrder::arrival});
  server.submit("long", 50);
  server.submit("short", 4);
  server.submit("urgent", 50, "a", Priority::high);
  EXPECT_EQ(server.first(), "urgent");
  server.run("urgent", 50);
  EXPECT_EQ(server.first(), "long");
  const Lease lease = server.queue.lease("long");
  server.step(lease, 1, 50);
  const std::vector<std::string> paused{"long"};
  EXPECT_EQ(server.queue.first(true, paused), "long");
}

TEST(JobQueue, WaitingMakesUpForLength) {
  ServerQueue server({.ageing = 0.1});
  server.submit("timed", 10);
  server.run("timed", 10, 100);
  server.submit("long", 10);  // 1,000 ms
  server.clock.now += 8'900;
  server.submit("short", 1);  // 100 ms, within 9,000 ms
  EXPECT_EQ(server.first(), "short");
  server.queue.cancel("short");
  server.clock.now += 200;
  server.submit("late", 1);
  EXPECT_EQ(server.first(), "long");
}

TEST(JobQueue, APriorityGoesFirstUntilOthersHaveWaitedLonger) {
  ServerQueue server({.promote_ms = 60'000});
  server.submit("low", 1, "a", Priority::low);
  server.submit("high", 50, "a", Priority::high);
  EXPECT_EQ(server.first(), "high");
  server.queue.cancel("high");
  server.clock.now += 121'000;
  server.submit("high2", 50, "a", Priority::high);
  EXPECT_EQ(server.first(), "low");
}

TEST(JobQueue, AClientWithManyJobsDoesNotHoldUpAnother) {
  ServerQueue server({.fair_ms = 1000});
  for (int i = 0; i < 20; ++i) server.submit("flood" + std::to_string(i), 2, "flood");
  server.submit("slow", 40, "other");
  // The flood's are shorter, and have their turn for as long as the client is not ahead.
  std::vector<std::string> order;
  for (int i = 0; i < 6; ++i) {
    const std::string id = server.first();
    order.push_back(server.queue.find(id)->client);
    server.run(id, server.queue.find(id)->steps, 300);
  }
  EXPECT_THAT(order, ElementsAre("flood", "flood", "other", "flood", "flood", "flood"));
}

TEST(JobQueue, CancelEndsAQueuedJobAndStopsARunningOne) {
  ServerQueue server;
  server.submit("one");
  server.submit("two");
  EXPECT_EQ(server.queue.cancel("one")->state, JobState::cancelled);
  const Lease lease = server.queue.lease("two");
  EXPECT_EQ(server.queue.cancel("two")->state, JobState::running);
  EXPECT_FALSE(server.queue.progress(lease, {}, 0));
  // What it made after that is dropped.
  EXPECT_TRUE(server.queue.finish(lease, "{}", 0));
  EXPECT_EQ(server.state("two"), JobState::cancelled);
  EXPECT_EQ(server.queue.find("two")->result, "");
  EXPECT_EQ(server.queue.cancel("none"), nullptr);
}

TEST(JobQueue, ADeadlineThatMeasuredTimesCannotMeetIsRefusedEarly) {
  ServerQueue server;
  server.submit("unknown", 10, "a", Priority::normal, 10);  // nothing is measured yet
  server.queue.cancel("unknown");
  server.submit("timed", 10);
  server.run("timed", 10, 100);
  server.submit("meets", 10, "a", Priority::normal, 1'200);
  try {
    server.submit("never", 20, "a", Priority::normal, 1'200);
    FAIL() << "it was accepted";
  } catch (const QueueRefusal& refusal) {
    EXPECT_EQ(refusal.kind(), "DeadlineTooSoon");
    EXPECT_EQ(refusal.retry_after_ms, 0);
    EXPECT_THAT(refusal.what(), HasSubstr("1200 ms"));
  }
  try {
    server.submit("later", 11, "a", Priority::normal, 1'200);
    FAIL() << "it was accepted";
  } catch (const QueueRefusal& refusal) {
    EXPECT_EQ(refusal.retry_after_ms, 900);
  }
}

TEST(JobQueue, ADeadlineThatPassesEndsTheJob) {
  ServerQueue server;
  server.submit("waits", 10, "a", Priority::normal, 1'000);
  server.submit("runs", 10, "a", Priority::normal, 1'000);
  const Lease lease = server.queue.lease("runs");
  server.clock.now += 1'000;
  server.queue.tick();
  EXPECT_EQ(server.state("waits"), JobState::expired);
  EXPECT_FALSE(server.queue.progress(lease, {}, 0));
  server.queue.fail(lease, {"Cancelled", ""});
  EXPECT_EQ(server.state("runs"), JobState::expired);
  EXPECT_EQ(server.queue.find("runs")->reason.kind, "DeadlinePassed");
}

TEST(JobQueue, EndedJobsAreForgottenByAgeNumberAndBytes) {
  ServerQueue server({.kept = 3, .kept_bytes = 100, .keep_ms = 1'000});
  for (const char* id : {"1", "2", "3", "4"}) {
    server.submit(id);
    server.queue.cancel(id);
  }
  EXPECT_THAT(server.queue.tick(), ElementsAre("1"));
  server.submit("large");
  server.queue.finish(server.queue.lease("large"), "{}", 99);
  EXPECT_THAT(server.queue.tick(), ElementsAre("2", "3", "4", "large"));
  server.submit("old");
  server.queue.cancel("old");
  server.clock.now += 999;
  EXPECT_THAT(server.queue.tick(), ElementsAre());
  server.clock.now += 1;
  EXPECT_THAT(server.queue.tick(), ElementsAre("old"));
  EXPECT_THAT(server.store.load(), ElementsAre());
}

// A clock that was wrong when the server started, or a server that did not run for a year.
TEST(JobQueue, AJumpOfTheClockForgetsNothingAtOnce) {
  constexpr int64_t year = int64_t{365} * 24 * 3'600'000;
  for (const int64_t jump : {year, -year / 1000}) {
    VirtualClock clock;
    clock.now = year;
    MemoryJobStore store;
    const QueueLimits limits{.keep_ms = 1'000};
    auto end = [&](JobQueue& queue, const std::string& id) {
      queue.submit({.id = id, .request = "{}"});
      queue.cancel(id);
    };
    {
      JobQueue queue(store, clock, limits);
      end(queue, "older");
      clock.now += 600;
      end(queue, "newer");
    }
    clock.now += jump;
    JobQueue queue(store, clock, limits);
    EXPECT_THAT(queue.tick(), ElementsAre()) << jump;
    end(queue, "new");
    if (jump < 0) continue;
    // From there on they age as if no time had passed.
    clock.now += 400;
    EXPECT_THAT(queue.tick(), ElementsAre("older"));
    clock.now += 600;
    EXPECT_THAT(queue.tick(), ElementsAre("newer", "new"));
  }
}

TEST(JobQueue, ARestartQueuesWhatRanAndThreeCrashesMakeADeadJob) {
  VirtualClock clock;
  MemoryJobStore store;
  {
    JobQueue queue(store, clock);
    queue.submit({.id = "poison", .request = "{}"});
    queue.submit({.id = "waits", .request = "{}"});
    queue.submit({.id = "done"});
    queue.submit({.id = "stopping"});
    queue.finish(queue.lease("done"), "{}", 0);
    queue.lease("poison");
    queue.lease("stopping");
    queue.cancel("stopping");
  }
  for (int crash = 1; crash < 3; ++crash) {
    JobQueue queue(store, clock);
    EXPECT_EQ(queue.find("poison")->state, JobState::queued);
    EXPECT_EQ(queue.find("poison")->crashes, crash);
    EXPECT_EQ(queue.find("stopping")->state, JobState::cancelled);
    EXPECT_EQ(queue.find("poison")->request, "{}");
    queue.lease("poison");
  }
  JobQueue queue(store, clock);
  EXPECT_EQ(queue.find("poison")->state, JobState::dead);
  EXPECT_EQ(queue.find("poison")->reason.kind, "Crashed");
  EXPECT_EQ(queue.find("waits")->state, JobState::queued);
  EXPECT_EQ(queue.find("done")->state, JobState::done);
  EXPECT_EQ(queue.first(true, {}), "waits");
}

// A full disk, say: the jobs are there, and what is decided about them is decided again next time.
TEST(JobQueue, ARestartOnAStoreThatTakesNothingStillStarts) {
  VirtualClock clock;
  MemoryJobStore disk;
  {
    JobQueue queue(disk, clock);
    for (const char* id : {"runs", "waits"}) queue.submit({.id = id, .request = "{}"});
    queue.submit({.id = "waited", .request = "{}", .waited_for = true});
    queue.lease("runs");
  }
  FailingStore store(disk);
  store.fault = [] { return FailingStore::Fault::before; };
  JobQueue queue(store, clock);
  EXPECT_EQ(queue.find("runs")->state, JobState::queued);
  EXPECT_EQ(queue.find("waits")->state, JobState::queued);
  EXPECT_EQ(queue.find("waited")->state, JobState::cancelled);
  EXPECT_THROW(queue.lease("waits"), RunFailed);
  store.fault = [] { return FailingStore::Fault::none; };
  EXPECT_TRUE(queue.finish(queue.lease("runs"), "{}", 0));
}

TEST(JobQueue, ARestartCancelsWhatAConnectionWaitedFor) {
  VirtualClock clock;
  MemoryJobStore store;
  {
    JobQueue queue(store, clock);
    queue.submit({.id = "queued", .waited_for = true});
    queue.submit({.id = "running", .waited_for = true});
    queue.lease("running");
  }
  JobQueue queue(store, clock);
  EXPECT_EQ(queue.find("queued")->reason.kind, "ClientGone");
  EXPECT_EQ(queue.find("running")->state, JobState::cancelled);
}

TEST(JobQueue, AHandedBackJobIsNoCrash) {
  VirtualClock clock;
  MemoryJobStore store;
  for (int start = 0; start < 5; ++start) {
    JobQueue queue(store, clock);
    if (start == 0) queue.submit({.id = "one"});
    EXPECT_EQ(queue.find("one")->crashes, 0);
    queue.release(queue.lease("one"));
  }
}

TEST(JobQueue, TextsAreBounded) {
  ServerQueue server;
  EXPECT_THROW(
      server.queue.submit({.id = "x", .request = std::string(max_job_request_bytes + 1, ' ')}),
      InvalidRequest);
  server.submit("one");
  const Lease lease = server.queue.lease("one");
  EXPECT_THROW(server.queue.finish(lease, std::string(max_job_result_bytes + 1, ' '), 0),
               InvalidRequest);
  server.queue.fail(lease, {"RunFailed", std::string(100'000, 'x')});
  EXPECT_EQ(server.queue.find("one")->reason.message.size(), max_job_reason_bytes);
}

TEST(JobQueue, JobsOfTheSameWorkAndPriorityMayShareAStep) {
  ServerQueue server;
  server.submit("long", 30);
  server.submit("low", 5, "a", Priority::low);
  server.submit("short", 10);
  server.queue.submit({.id = "other", .client = "a", .model = "m", .work = "v", .request = "{}"});
  const Lease lease = server.queue.lease("long");
  server.step(lease, 25, 30);
  const std::vector<std::string> paused{"long"};
  EXPECT_THAT(server.queue.alike("long", true, paused), ElementsAre("long", "short"));
  EXPECT_THAT(server.queue.alike("long", false, paused), ElementsAre("long"));
}

TEST(JobQueue, AClientThatHasHadMoreSharesNoStepOfOthers) {
  ServerQueue server({.fair_ms = 1000});
  server.submit("one", 30, "a");
  server.submit("two", 30, "b");
  const Lease lease = server.queue.lease("one");
  server.step(lease, 1, 30, 1001);
  const std::vector<std::string> paused{"one"};
  EXPECT_THAT(server.queue.alike("two", true, paused), ElementsAre("two"));
}

TEST(JobQueue, AStepOfSeveralRunsIsChargedInPartsAndTeachesNoTimes) {
  ServerQueue server({.fair_ms = 1000});
  server.submit("one", 30, "a");
  server.submit("two", 30, "b");
  const Lease lease = server.queue.lease("one");
  server.queue.progress(lease, {"denoise_loop", 1, 30}, 4000, 4);
  const std::vector<std::string> paused{"one"};
  EXPECT_EQ(server.queue.alike("one", true, paused).size(), 2u);
  EXPECT_FALSE(server.queue.times().measured("w", 1, false));
}

}  // namespace
}  // namespace omnirt::serve
