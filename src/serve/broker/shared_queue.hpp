#pragma once
#include <functional>

#include "serve/broker/broker.hpp"
#include "serve/job_ordering.hpp"

namespace omnirt::serve {

// The queue that servers and workers share, as each of them sees it: a state machine over a broker,
// which is its store and its clock. It has no threads and keeps nothing of the jobs, so that any
// process may end at any call, and any other goes on. Two that decide about one job at a time: the
// second sees that the job has changed, and decides again.
//
// A job waits until a worker that takes its model and part is idle; then the first by the order
// (docs/server.md) becomes an entry of a work stream, which one worker is given. The entry is that
// worker's while it beats. One that is silent for longer than its lease has crashed: its job is
// queued again, and dead after the last crash. A run that was thought dead finds its lease void,
// and its result is taken from no one.
//
// Not safe to use from several threads; the broker's exceptions pass through.
class SharedQueue {
 public:
  SharedQueue(Broker& broker, QueueLimits limits, Member self)
      : broker_(broker), limits_(limits), self_(std::move(self)) {}

  // Called after each change of a job's state that was made here.
  std::function<void(const Job&)> on_change;
  struct Counts {
    int64_t claims = 0;        // entries taken over from silent workers
    int64_t dead_letters = 0;  // jobs and entries that are not tried again
    int64_t void_results = 0;  // of runs whose lease was lost
  };
  const Counts& counts() const { return counts_; }
  const Member& self() const { return self_; }

  // Throws QueueRefusal; InvalidRequest where a text is too long.
  SharedJob submit(const Submission& submission, WorkPart part, const FileBytes& files);
  // A queued job ends, a running one is asked to stop.
  std::optional<SharedJob> cancel(const std::string& id,
                                  const JobReason& reason = cancelled_by_client());
  // Gives idle workers what goes first. How many jobs.
  size_t dispatch();
  // What time does: deadlines, processes that are gone, what is kept beyond its time; then
  // `dispatch`. Any process may do it, as often as it likes. Nobody is dead before the broker has
  // been up for a lease's time, in which who lives beats.
  void tick();

  // This process lives, and takes (`leaving`: no more) work.
  void join(bool leaving = false);
  struct Taken {
    WorkLease lease;
    SharedJob shared;  // with its request
  };
  // The next job of this worker's streams; waits for it for at most `wait_ms`.
  std::optional<Taken> take(int64_t wait_ms);
  // The ways to end a run. False: the lease is void. `files` were put for this attempt before.
  bool finish(const WorkLease& lease, const std::string& result, int64_t bytes);
  bool fail(const WorkLease& lease, const JobReason& reason);
  // Back to the queue: unfinished (nothing counts as a crash), or done as far as the part before
  // `next`, its state in this attempt's files.
  bool release(const WorkLease& lease);
  bool pass_on(const WorkLease& lease, WorkPart next);
  // A run that cannot be cut where this worker's parts end.
  bool needs_whole(const WorkLease& lease);

 private:
  using Change = std::function<std::optional<Broker::Move>(SharedJob&, int64_t now_ms)>;
  std::optional<SharedJob> change(const std::string& id, const Change& how);
  bool end_lease(const WorkLease& lease, const std::function<void(SharedJob&, int64_t)>& how);
  void changed(const SharedJob& shared) const;
  std::optional<Taken> begin(const WorkEntry& entry);
  void release_own();
  void lose(const WorkEntry& entry);
  void claim(const Snapshot& now);
  void check_entries(const Snapshot& now);
  void end_late(const Snapshot& now);
  void leave_dead(const Snapshot& now);
  void forget(const Snapshot& now);
  size_t dispatch(const Snapshot& now);
  int64_t lease_ms(const Snapshot& now) const;
  bool may_be_dead(const Snapshot& now) const;
  QueueLimits limits_for(const Snapshot& now) const;

  Broker& broker_;
  QueueLimits limits_;
  Member self_;
  Counts counts_;
  std::vector<WorkEntry> claimed_;  // and not seen to
  bool unsure_ = false;             // what was taken last: the broker was lost then
};

// The jobs of a snapshot as the order looks at them.
std::vector<JobInLine> line_of(const Snapshot& now);
// Whether a worker, as it last said, takes a job's next part.
bool takes(const Member& member, const SharedJob& job);
bool lives(const Member& member, int64_t now_ms);

}  // namespace omnirt::serve
