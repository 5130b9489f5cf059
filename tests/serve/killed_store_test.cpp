// A process is killed at each call of its store in turn, before and after the call's work: what it
// had told anyone still holds for the process that comes after it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "serve/job_queue.hpp"
#include "serve/records.hpp"
#include "serve/sqlite_store.hpp"
#include "serve/temporary.hpp"
#include "serve/virtual_clock.hpp"

namespace omnirt::serve {
namespace {

enum class When { before, after };

// Kills its process at the n-th call, from 1.
class DyingStore final : public JobStore {
 public:
  DyingStore(JobStore& inner, int at, When when) : inner_(inner), at_(at), when_(when) {}
  std::vector<Job> load() override { return inner_.load(); }
  void insert(const Job& job) override {
    call([&] { inner_.insert(job); });
  }
  void update(const Job& job) override {
    call([&] { inner_.update(job); });
  }
  void remove(const std::string& id) override {
    call([&] { inner_.remove(id); });
  }
  std::string result(const std::string& id) override { return inner_.result(id); }

 private:
  void call(const std::function<void()>& work) {
    const bool dies = ++seen_ == at_;
    if (dies && when_ == When::before) raise(SIGKILL);
    work();
    if (dies && when_ == When::after) raise(SIGKILL);
  }
  JobStore& inner_;
  int at_;
  When when_;
  int seen_ = 0;
};

std::string result_of(const std::string& id) {
  return "{\"image of\": \"" + id + "\"}";
}

Submission submission(const std::string& id) {
  return {.id = id, .client = "a", .model = "m", .work = "w", .request = "{}"};
}

// Lives of jobs of all kinds. `tell` is what clients were told.
void live(JobStore& store, const std::function<void(const std::string&)>& tell) {
  const VirtualClock clock;
  JobQueue queue(store, clock, {.kept = 3});
  const std::string done = job_id("done"), failed = job_id("failed");
  const std::string cancelled = job_id("cancelled"), stopped_job = job_id("stopped");
  const std::string released = job_id("released");
  for (const std::string& id : {done, failed, cancelled, stopped_job, released}) {
    queue.submit(submission(id));
    tell("accepted " + id);
  }
  queue.finish(queue.lease(done), result_of(done), 1);
  tell("done " + done);
  queue.fail(queue.lease(failed), {"RunFailed", "why"});
  tell("failed " + failed);
  queue.cancel(cancelled);
  tell("cancelled " + cancelled);
  const Lease stopped = queue.lease(stopped_job);
  queue.cancel(stopped_job);
  queue.finish(stopped, result_of(stopped_job), 1);
  tell("cancelled " + stopped_job);
  queue.release(queue.lease(released));
  queue.finish(queue.lease(released), result_of(released), 1);
  tell("done " + released);
  for (const std::string& id : queue.tick()) tell("forgotten " + id);
}

struct Life {
  std::vector<std::string> told;
  bool killed = false;
};

// The same in a process of its own.
Life live_and_die(const std::filesystem::path& file, int at, When when) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    SqliteJobStore store(file);
    DyingStore dying(store, at, when);
    live(dying, [&](std::string word) {
      word += '\n';
      if (write(ends[1], word.data(), word.size()) < 0) _exit(1);
    });
    _exit(0);
  }
  close(ends[1]);
  std::string all;
  char bytes[256];
  for (ssize_t got = 0; (got = read(ends[0], bytes, sizeof bytes)) > 0;)
    all.append(bytes, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Life life;
  life.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(life.killed || status == 0) << status;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) life.told.push_back(line);
  return life;
}

// What was told is so, and all that is left to do can be done.
void check_next(const std::filesystem::path& file, const Life& life) {
  SqliteJobStore store(file);
  const VirtualClock clock;
  JobQueue queue(store, clock);
  // From there on jobs are forgotten.
  const bool all_told = std::find(life.told.begin(), life.told.end(),
                                  "done " + job_id("released")) != life.told.end();
  for (const std::string& line : life.told) {
    const std::string what = line.substr(0, line.find(' ')), id = line.substr(line.find(' ') + 1);
    const Job* job = queue.find(id);
    if (what == "accepted" && !all_told) {
      EXPECT_TRUE(job) << id;
    } else if (job && what == "done") {
      EXPECT_EQ(job->state, JobState::done) << id;
      EXPECT_EQ(queue.result(id), result_of(id));
    } else if (job && what != "accepted" && what != "forgotten") {
      EXPECT_EQ(name_of(job->state), what) << id;
    }
    if (what == "forgotten") {
      EXPECT_FALSE(job) << id;
    }
  }
  for (std::string id; !(id = queue.first(true, {})).empty();)
    EXPECT_TRUE(queue.finish(queue.lease(id), result_of(id), 1));
  for (const auto& [id, job] : queue.jobs()) {
    EXPECT_TRUE(has_ended(job.state)) << id;
    if (job.state == JobState::done) {
      EXPECT_EQ(queue.result(id), result_of(id));
    }
  }
}

TEST(KilledStore, KeepsWhatWasToldWhateverCallWasTheLast) {
  for (const When when : {When::before, When::after}) {
    for (int at = 1;; ++at) {
      SCOPED_TRACE(at);
      Temporary folder(Temporary::in_memory());
      const Life life = live_and_die(folder.path() / "jobs.sqlite", at, when);
      check_next(folder.path() / "jobs.sqlite", life);
      if (!life.killed) {
        EXPECT_GT(at, 15) << "the calls were not counted";
        break;
      }
    }
  }
}

}  // namespace
}  // namespace omnirt::serve
