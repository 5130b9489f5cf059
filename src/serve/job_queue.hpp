#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "serve/client_shares.hpp"
#include "serve/job_store.hpp"
#include "serve/queue_clock.hpp"
#include "serve/step_times.hpp"

namespace omnirt::serve {

class JobOrdering;
struct JobInLine;

// Which of a client's jobs of one priority goes first.
enum class JobOrder {
  shortest,  // by remaining time, less what waiting makes up for
  arrival,   // first come, first served
};

struct QueueLimits {
  JobOrder order = JobOrder::shortest;
  size_t waiting = 64;                          // queued jobs
  size_t kept = 1000;                           // ended jobs, the newest
  int64_t kept_bytes = int64_t{4} << 30;        // of their files and results
  int64_t keep_ms = int64_t{24} * 3600 * 1000;  // how long an ended job is kept
  int64_t crashes = 3;                          // of a job, before it is dead
  int64_t promote_ms = 300'000;                 // of waiting that lifts a job by one priority
  double ageing = 0.01;   // remaining time that a time of waiting makes up for
  double fair_ms = 2000;  // of computing that a client may be ahead of others
  size_t at_once = 1;     // runs that compute at a time
};

struct Submission {
  std::string id{};
  std::string client{}, model{}, work{}, request{};
  Priority priority = Priority::normal;
  int64_t steps = 1;
  int64_t deadline_in_ms = 0;  // from now; 0: none
  size_t client_jobs = 0;      // the most that the client may have queued and running; 0: no limit
  int64_t bytes = 0;
  bool waited_for = false;
};

// A job that is not accepted: QueueFull, TooManyJobs, DeadlineTooSoon. `retry_after_ms` is when
// another attempt may succeed by the times that were measured; 0: never.
class QueueRefusal : public Error {
 public:
  QueueRefusal(std::string kind, const std::string& what, int64_t retry_after_ms)
      : Error(std::move(kind), what, 2), retry_after_ms(retry_after_ms) {}
  int64_t retry_after_ms;
};

// The right to run a job once. A later attempt of the same job makes an earlier one void.
struct Lease {
  std::string id;
  int64_t attempt = 0;
};

JobReason cancelled_by_client();
JobReason server_ends();

struct JobProgress {
  std::string stage;
  int64_t step = 0;  // done
  int64_t steps = 0;
};

// The queue of one server as a state machine: it has no threads and waits for nothing, time comes
// from a clock and what must last goes to a store, before a call returns. Each call takes effect
// wholly, or throws what the store threw and changes nothing here.
//
// Order (docs/server.md): between clients, those that have had least computing, within `fair_ms`;
// then priority, to which each `promote_ms` of waiting adds one; then the shortest remaining time,
// less `ageing` times the time waited.
class JobQueue {
 public:
  // Takes up what the store holds, by the rule of a restart: what had ended stays; what was queued
  // is queued; what was running is queued again, or cancelled where that was asked for, or dead
  // after its last crash. One that a connection waited for is cancelled: the connection is gone.
  JobQueue(JobStore& store, const QueueClock& clock, QueueLimits limits = {});

  // Called after each change of a job's state.
  std::function<void(const Job&)> on_change;

  // Throws QueueRefusal; InvalidRequest where a text is too long.
  const Job& submit(const Submission& submission);
  // The job that goes first among `paused` ones, which are running, and, where `queued`, those that
  // wait; "" where there is none.
  std::string first(bool queued, std::span<const std::string> paused) const;
  // Of the same candidates those that may compute a step together with `first`, which goes first:
  // of the same work and at least its priority; in order, it among them.
  std::vector<std::string> alike(const std::string& first, bool queued,
                                 std::span<const std::string> paused) const;
  // A queued job begins.
  Lease lease(const std::string& id);
  // How far it is, after `ms` of computing since the last call, which were its own or those of as
  // many `runs` together. False: it is to stop, because it
  // was cancelled, its deadline passed, or the lease is void.
  bool progress(const Lease& lease, const JobProgress& progress, double ms, size_t runs = 1);
  // The ways to end, each once: false where the lease is void. One that was asked to stop is
  // cancelled (or expired) whatever its run says.
  bool finish(const Lease& lease, const std::string& result, int64_t bytes);
  bool fail(const Lease& lease, JobReason reason);
  // Back to the queue, for a server that ends: it begins again, and nothing counts as a crash.
  bool release(const Lease& lease);
  // Fails it here where the store takes nothing any more; a restart finds it running.
  void abandon(const Lease& lease, JobReason reason);
  // A queued job ends, a running one is asked to stop; null where there is no such job.
  const Job* cancel(const std::string& id, const JobReason& reason = cancelled_by_client());
  // False where there is no such job, or it has not ended.
  bool forget(const std::string& id);
  // Ends queued jobs whose deadline has passed, asks running ones to stop, and forgets ended jobs
  // beyond what is kept; the ids of these.
  std::vector<std::string> tick();

  // The ended job that is forgotten next; "" if all are kept for now.
  std::string due() const;

  // Ended jobs are without their request and result, which are the store's.
  const Job* find(const std::string& id) const;
  // Of a job that is done. Throws what the store throws.
  std::string result(const std::string& id) const { return store_.result(id); }
  const JobProgress* progress_of(const std::string& id) const;
  const std::map<std::string, Job>& jobs() const { return jobs_; }
  size_t waiting() const { return waiting_.size(); }
  size_t running() const { return runs_.size(); }
  // By measured times, how long until a place in the queue comes free, and until a job ends that is
  // queued or running.
  int64_t retry_after_ms() const;
  int64_t remaining_ms(const std::string& id) const;
  const StepTimes& times() const { return times_; }

 private:
  struct Run {
    JobProgress at;
    double other_ms = 0;  // of computing that was no step
  };

  void restart(Job job);
  void store_restarted(const Job& job);
  void put(Job job);
  void end(Job ended);
  void take_out(const std::string& id);
  Job* leased(const Lease& lease);
  void count_end(const Job& ended);
  void expire(const std::vector<std::string>& ids);
  int64_t kept_until_ms(const Job& ended) const;
  JobOrdering ordering() const;
  JobInLine in_line(const Job& job) const;
  std::vector<JobInLine> candidates(bool queued, std::span<const std::string> paused) const;
  std::vector<JobInLine> line() const;

  JobStore& store_;
  const QueueClock& clock_;
  QueueLimits limits_;
  std::map<std::string, Job> jobs_;
  std::vector<std::string> waiting_;
  std::map<std::string, Run> runs_;
  std::deque<std::string> ended_;  // in the order of their ends
  int64_t ended_bytes_ = 0;
  int64_t next_number_ = 1;
  // Where all that the store holds is older than what is kept, a wrong clock is as likely as a
  // server that did not run for so long: that time then does not count.
  int64_t started_ms_ = 0, stopped_ms_ = 0;
  ClientShares shares_;
  StepTimes times_;
};

}  // namespace omnirt::serve

template <>
struct omnirt::ChoiceNames<omnirt::serve::JobOrder> {
  static constexpr std::array names{"shortest", "arrival"};
};
