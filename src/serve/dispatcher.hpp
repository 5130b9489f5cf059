#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/cancel.hpp"
#include "base/device_id.hpp"
#include "base/shared_turn.hpp"
#include "serve/jobs.hpp"
#include "serve/step_sharing.hpp"

namespace omnirt::serve {

// What a run has of its server; used on the run's own thread.
class RunControl {
 public:
  virtual ~RunControl() = default;
  // At the start of each block and after each step: returns when the run's turn has come. Throws
  // Cancelled.
  virtual void at(const JobProgress& progress) = 0;
  // An image of the latents; `data` is JSON.
  virtual void preview(std::string data) = 0;
  virtual const CancelToken& cancel() const = 0;
  // The device that the server runs it on; null: as its request says.
  virtual const DeviceId* device() const { return nullptr; }
  // The turn that it shares with other runs now; null: its turn is its own.
  virtual SharedTurn* shared_turn() { return nullptr; }
};

struct JobOutcome {
  std::string result;  // JSON
  int64_t bytes = 0;   // of the files that it left
};

// Runs a job to its end. Throws an Error.
using RunJob = std::function<JobOutcome(const Job&, RunControl&)>;

struct DispatcherLimits {
  QueueLimits queue;     // at_once is of each device
  size_t in_flight = 5;  // runs that have begun on a device; those beyond at_once pause at a step
  // With one run at a time: whether several may share a turn, and with it a step.
  ShareSteps share_steps = ShareSteps::off;
  std::vector<DeviceId> devices{};  // that run jobs; empty: one executor, devices as requests say
};

// Runs the jobs of a queue in worker threads. A job begins on the device with the fewest runs,
// and stays there; each device orders its runs by itself. Of those that have begun on a device,
// queue.at_once compute at a time: after each step, and at the start of each block, a run hands its
// turn to whichever goes first by the queue's order, itself maybe, or a job that has not begun. A
// run that only writes its files has no turn, and keeps its place among those that have begun.
// Where it pays (StepSharing), the first has its step together with the next ones of the same work,
// which are brought as far as their first step before. `on_change` is called under its lock.
class Dispatcher final : public Jobs {
 public:
  Dispatcher(JobStore& store, const QueueClock& clock, const DispatcherLimits& limits, RunJob run);
  // Stops at once, as `stop` does.
  ~Dispatcher() override;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void start() override;
  JobView submit(const Submission& submission) override;
  std::optional<JobView> find(const std::string& id) const override;
  std::vector<JobView> list(const std::string& client, size_t most) const override;
  std::optional<JobView> cancel(const std::string& id) override;
  bool forget(const std::string& id) override;
  int64_t listen(const std::string& id, int64_t after, JobEvents::Listener listener) override;
  void leave(int64_t listener) override;
  Counts counts() const override;
  std::string refuses() const override;
  // The ids of all jobs that there are.
  std::set<std::string> ids() const;
  bool drain(int64_t ms) override;
  void hand_back() override;
  void stop() override;

 private:
  struct Run;
  struct Together;
  void work();
  void run_one(Run& run, std::unique_lock<std::mutex>& lock);
  void end(Run& run, const std::function<void()>& how);
  void at(Run& run, const JobProgress& progress);
  void hand_on(Run& run);
  void let_go(Run& run);
  void take_turn(Run& run, std::unique_lock<std::mutex>& lock);
  void dispatch();
  struct Executor;
  void give_turns();
  bool give_turn(Executor& executor);
  std::vector<Executor*> idlest_first();
  size_t begun_on(const Executor& executor) const;
  bool may_begin(const Executor& executor) const;
  std::vector<std::string> next(const Executor& executor) const;
  std::vector<std::string> company(const Executor& executor, const std::string& first,
                                   std::span<const std::string> paused) const;
  Run* find_run(const std::string& id) const;
  void leave(Together& together);
  bool begin(const std::string& id, Executor& executor);
  void watch();
  void pass_on_cancels();
  void cancel_unreachable();
  void changed(const Job& job);
  JobView view_without_result(const Job& job) const;
  JobView view(const Job& job) const;
  void read_result(Job& job) const;
  std::vector<JobView> newest(const std::string& client, size_t most) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  JobQueue queue_;
  JobEvents events_;
  DispatcherLimits limits_;
  RunJob run_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::list<std::unique_ptr<Run>> runs_;  // leased
  bool accepts_ = true;
  bool begins_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace omnirt::serve
