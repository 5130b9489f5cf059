#include "serve/job_simulation.hpp"
#include "serve/records.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "serve/job_files.hpp"
#include "serve/sqlite_store.hpp"
#include "serve/temporary.hpp"

namespace omnirt::serve {
namespace {

int64_t number_of(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

// OMNIRT_JOB_LIVES=1000000 is the whole of it; OMNIRT_JOB_SEED=N replays a seed.
TEST(JobSimulation, NoAcceptedJobIsLostOrDeliveredTwiceWhateverFails) {
  const int64_t lives = number_of("OMNIRT_JOB_LIVES", 40'000);
  const int64_t only = number_of("OMNIRT_JOB_SEED", 0);
  constexpr int64_t per_seed = 5'000;
  JobSimulation::Counts sum;
  for (int64_t seed = only ? only : 1; only ? seed == only : seed <= lives / per_seed; ++seed) {
    JobSimulation simulation(static_cast<uint64_t>(seed));
    ASSERT_NO_THROW(simulation.run(per_seed)) << "OMNIRT_JOB_SEED=" << seed << " replays it";
    sum.accepted += simulation.counts().accepted;
    sum.refused += simulation.counts().refused;
    sum.restarts += simulation.counts().restarts;
    sum.store_faults += simulation.counts().store_faults;
    for (const auto& [state, count] : simulation.counts().ended) sum.ended[state] += count;
  }
  RecordProperty("refused", std::to_string(sum.refused));
  RecordProperty("restarts", std::to_string(sum.restarts));
  if (only) return;
  // The faults that it is about took place.
  for (JobState state :
       {JobState::done, JobState::failed, JobState::cancelled, JobState::expired, JobState::dead})
    EXPECT_GT(sum.ended[state], 0) << name_of(state);
  EXPECT_GT(sum.refused, 0);
  EXPECT_GT(sum.restarts, 100);
  EXPECT_GT(sum.store_faults, 100);
}

TEST(JobSimulation, ASeedReplays) {
  auto counts = [](uint64_t seed) {
    JobSimulation simulation(seed);
    simulation.run(1'000);
    return simulation.counts();
  };
  const auto first = counts(7), again = counts(7), other = counts(8);
  EXPECT_EQ(first.ended, again.ended);
  EXPECT_EQ(first.restarts, again.restarts);
  EXPECT_NE(first.refused, other.refused);
}

// A scenario of every call, over a store whose calls all fail from the n-th on, as those of a
// process that was killed there.
struct Script {
  explicit Script(JobStore& store) : queue(store, clock, {.kept = 2}) {}
  void submit(const std::string& id) {
    queue.submit({.id = id, .request = "{}"});
    accepted.push_back(id);
  }
  void finish(const std::string& id) {
    if (queue.finish(queue.lease(id), "{}", 0)) delivered.push_back(id);
  }
  void play() {
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) submit(job_id(name));
    finish(job_id("a"));
    const Lease handed_back = queue.lease(job_id("b"));
    const Lease fails = queue.lease(job_id("c"));
    queue.release(handed_back);
    queue.fail(fails, {"RunFailed", "why"});
    queue.lease(job_id("d"));
    queue.cancel(job_id("e"));
    queue.cancel(job_id("d"));
    for (const std::string& id : queue.tick()) forgotten.push_back(id);
    finish(job_id("b"));
    finish(job_id("f"));
  }
  VirtualClock clock;
  JobQueue queue;
  std::vector<std::string> accepted, delivered, forgotten;
};

// Everything that is left is run to its end; ids that were delivered now.
std::vector<std::string> drain(JobStore& store) {
  VirtualClock clock;
  JobQueue queue(store, clock, {.kept = 100});
  std::vector<std::string> delivered;
  for (std::string id; !(id = queue.first(true, {})).empty();) {
    EXPECT_TRUE(queue.finish(queue.lease(id), "{}", 0));
    delivered.push_back(id);
  }
  for (const auto& [id, job] : queue.jobs()) EXPECT_TRUE(has_ended(job.state)) << id;
  return delivered;
}

// `reopen` returns the store as the next process finds it.
void sweep(const std::function<std::unique_ptr<JobStore>(bool first)>& reopen) {
  int killed = 0;
  for (const auto kind : {FailingStore::Fault::before, FailingStore::Fault::after}) {
    for (int n = 1;; ++n) {
      std::unique_ptr<JobStore> disk = reopen(true);
      FailingStore store(*disk);
      int calls = 0;
      store.fault = [&] {
        if (++calls < n) return FailingStore::Fault::none;
        return calls == n ? kind : FailingStore::Fault::before;
      };
      std::vector<std::string> accepted, delivered, forgotten;
      bool whole = false;
      auto script = std::make_unique<Script>(store);
      try {
        script->play();
        whole = true;
      } catch (const RunFailed&) {
        ++killed;
      }
      accepted = script->accepted;
      delivered = script->delivered;
      forgotten = script->forgotten;
      script.reset();
      disk.reset();
      disk = reopen(false);
      const std::vector<Job> found = disk->load();
      for (const std::string& id : drain(*disk)) {
        EXPECT_EQ(std::count(delivered.begin(), delivered.end(), id), 0)
            << id << " is delivered twice; killed at call " << n;
      }
      for (const std::string& id : accepted) {
        const bool there =
            std::any_of(found.begin(), found.end(), [&](const Job& job) { return job.id == id; });
        const bool ended_before = std::count(delivered.begin(), delivered.end(), id) > 0 ||
                                  std::count(forgotten.begin(), forgotten.end(), id) > 0;
        // Forgetting removes ended jobs only, the oldest first: a, then c.
        EXPECT_TRUE(there || ended_before || id == job_id("a") || id == job_id("c"))
            << id << " is lost; killed at call " << n;
      }
      if (whole) break;
    }
  }
  EXPECT_GE(killed, 40);
}

TEST(CrashSweep, InMemoryNothingIsLostWhereverTheStoreStops) {
  auto kept = std::make_shared<MemoryJobStore>();
  struct Shared final : JobStore {
    explicit Shared(std::shared_ptr<MemoryJobStore> store) : inner(std::move(store)) {}
    std::vector<Job> load() override { return inner->load(); }
    void insert(const Job& job) override { inner->insert(job); }
    void update(const Job& job) override { inner->update(job); }
    void remove(const std::string& id) override { inner->remove(id); }
    std::string result(const std::string& id) override { return inner->result(id); }
    std::shared_ptr<MemoryJobStore> inner;
  };
  sweep([&](bool first) {
    if (first) kept = std::make_shared<MemoryJobStore>();
    return std::make_unique<Shared>(kept);
  });
}

TEST(CrashSweep, InSqliteNothingIsLostWhereverTheStoreStops) {
  Temporary folder(Temporary::in_memory());  // a disk would make it wait thousands of times
  int database = 0;
  sweep([&](bool first) {
    if (first) ++database;
    return std::make_unique<SqliteJobStore>(folder.path() /
                                            ("jobs" + std::to_string(database) + ".sqlite"));
  });
}

}  // namespace
}  // namespace omnirt::serve
