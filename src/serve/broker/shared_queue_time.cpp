// What time does to the jobs that servers and workers share, and who is given which.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "serve/broker/shared_queue.hpp"
#include "serve/job_rules.hpp"

namespace omnirt::serve {
namespace {

// How many jobs a look forgets at most.
constexpr size_t forgotten_at_once = 32;

bool has(const std::vector<Member>& members, const std::string& id, int64_t now_ms) {
  return std::any_of(members.begin(), members.end(),
                     [&](const Member& each) { return each.id == id && lives(each, now_ms); });
}

JobReason worker_lost(const SharedJob& shared) {
  return {"WorkerLost",
          fmt::format("worker {} ended, or was silent for longer than its lease, in attempt {}; "
                      "the job is tried again",
                      shared.worker, shared.job.attempts)};
}

// Workers that would take a job at once, by who takes least: who takes all is kept for what no
// other does.
class IdleWorkers {
 public:
  explicit IdleWorkers(const Snapshot& now) {
    for (const Member& each : now.members) {
      if (each.works && !each.leaving && lives(each, now.now_ms()) && !runs(now, each.id))
        idle_.push_back(&each);
    }
    std::sort(idle_.begin(), idle_.end(), [](const Member* a, const Member* b) {
      return a->parts.size() != b->parts.size() ? a->parts.size() < b->parts.size()
                                                : a->models.size() < b->models.size();
    });
  }
  bool empty() const { return idle_.empty(); }
  bool takes_one(const SharedJob& job) const { return find(job) != idle_.end(); }
  void give(const SharedJob& job) {
    if (auto it = find(job); it != idle_.end()) idle_.erase(it);
  }

 private:
  static bool runs(const Snapshot& now, const std::string& worker) {
    return std::any_of(now.line.begin(), now.line.end(), [&](const SharedJob& each) {
      return each.job.state == JobState::running && each.worker == worker;
    });
  }
  std::vector<const Member*>::const_iterator find(const SharedJob& job) const {
    return std::find_if(idle_.begin(), idle_.end(),
                        [&](const Member* each) { return takes(*each, job); });
  }
  std::vector<const Member*> idle_;
};

bool is_in_stream(const SharedJob& shared) {
  return shared.job.state == JobState::queued && !shared.entry.empty();
}

}  // namespace

size_t SharedQueue::dispatch() {
  return dispatch(broker_.snapshot());
}

// As many jobs are in the streams as workers wait for one, so that all others stay in the order.
size_t SharedQueue::dispatch(const Snapshot& now) {
  IdleWorkers idle(now);
  for (const SharedJob& each : now.line) {
    if (is_in_stream(each)) idle.give(each);
  }
  const QueueLimits limits = limits_for(now);
  const JobOrdering ordering(limits, now.times, now.now_ms());
  std::map<const Job*, const SharedJob*> waiting;
  std::vector<JobInLine> candidates;
  const std::vector<JobInLine> line = line_of(now);
  for (size_t i = 0; i < line.size(); ++i) {
    const SharedJob& each = now.line[i];
    if (each.job.state != JobState::queued || !each.entry.empty()) continue;
    waiting[&each.job] = &each;
    candidates.push_back(line[i]);
  }
  size_t given = 0;
  while (!idle.empty()) {
    std::erase_if(candidates, [&](const JobInLine& each) {
      return !waiting.contains(each.job) || !idle.takes_one(*waiting.at(each.job));
    });
    const Job* first = ordering.first(candidates);
    if (!first) break;
    SharedJob next = *waiting.at(first);
    waiting.erase(first);
    idle.give(next);
    next.put_ms = now.now_ms();
    if (broker_.commit(next, Broker::Move::put_in)) ++given;
  }
  return given;
}

void SharedQueue::tick() {
  const Snapshot now = broker_.snapshot();
  if (may_be_dead(now)) claim(now);
  check_entries(now);
  end_late(now);
  forget(now);
  if (may_be_dead(now)) leave_dead(now);
  dispatch();
}

// Those of an earlier look too, if the broker was lost before their jobs were seen to: as claimed
// entries they are nobody else's for a lease's time.
void SharedQueue::claim(const Snapshot& now) {
  for (WorkEntry& entry : broker_.claim(self_, lease_ms(now))) claimed_.push_back(std::move(entry));
  while (!claimed_.empty()) {
    lose(claimed_.back());
    claimed_.pop_back();
  }
}

// The worker that was given the entry is gone, or the entry is.
void SharedQueue::lose(const WorkEntry& entry) {
  bool stands = false;
  std::optional<SharedJob> shared;
  if (!entry.job.empty()) {
    shared = change(entry.job, [&](SharedJob& each, int64_t now) -> std::optional<Broker::Move> {
      stands = each.entry == entry.id;
      if (!stands) return std::nullopt;
      if (each.job.state == JobState::running) {
        crash_job(each.job, limits_, now);
        if (each.job.state == JobState::queued) each.job.reason = worker_lost(each);
      }
      return Broker::Move::take_out;
    });
  }
  if (!stands) return broker_.drop(entry, shared ? "" : "names no job");
  ++counts_.claims;
  if (shared->job.state == JobState::dead) ++counts_.dead_letters;
  spdlog::warn("job {}: {}", shared->job.id,
               shared->job.reason.message.empty() ? "was not begun" : shared->job.reason.message);
}

// Runs whose worker is gone, entries that someone removed or a broker lost, and those that nobody
// has begun for a lease's time: whoever was given one, or claimed it, ended right then.
void SharedQueue::check_entries(const Snapshot& now) {
  std::vector<WorkEntry> entries;
  std::vector<bool> gone;
  for (const SharedJob& each : now.line) {
    if (each.entry.empty()) continue;
    entries.push_back({each.stream, each.entry, each.job.id});
    const bool running = each.job.state == JobState::running;
    const bool worker_is_gone = running && !has(now.members, each.worker, now.now_ms());
    const bool not_begun = !running && now.now_ms() - each.put_ms > lease_ms(now);
    gone.push_back(may_be_dead(now) && (worker_is_gone || not_begun));
  }
  if (entries.empty()) return;
  const std::vector<bool> present = broker_.present(entries);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!present[i] || gone[i]) lose(entries[i]);
  }
}

// Deadlines that have passed, and connections that are gone with their server.
void SharedQueue::end_late(const Snapshot& now) {
  for (const SharedJob& each : now.line) {
    const bool late = deadline_passed(each.job, now.now_ms());
    const bool gone = !each.waiter.empty() && !each.job.cancelling && may_be_dead(now) &&
                      !has(now.members, each.waiter, now.now_ms());
    if (!late && !gone) continue;
    change(each.job.id, [&](SharedJob& shared, int64_t at) -> std::optional<Broker::Move> {
      const bool ends =
          late ? expire_job(shared.job, at) : cancel_job(shared.job, client_gone(), at);
      if (!ends) return std::nullopt;
      return has_ended(shared.job.state) ? Broker::Move::take_out : Broker::Move::stay;
    });
  }
}

void SharedQueue::forget(const Snapshot& now) {
  size_t count = now.ended_count, done = 0;
  int64_t bytes = now.ended_bytes;
  for (const Snapshot::Ended& each : now.oldest) {
    const bool too_much = count > limits_.kept || bytes > limits_.kept_bytes ||
                          each.ended_ms + limits_.keep_ms <= now.now_ms();
    if (!too_much || ++done > forgotten_at_once) return;
    broker_.remove(each.id);
    --count;
    bytes -= each.bytes;
  }
}

// Once nothing is theirs any more.
void SharedQueue::leave_dead(const Snapshot& now) {
  for (const Member& each : now.members) {
    if (lives(each, now.now_ms())) continue;
    const bool has_jobs =
        std::any_of(now.line.begin(), now.line.end(), [&](const SharedJob& shared) {
          return shared.waiter == each.id ||
                 (shared.job.state == JobState::running && shared.worker == each.id);
        });
    if (!has_jobs) broker_.leave(each.id);
  }
}

}  // namespace omnirt::serve
