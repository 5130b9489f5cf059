// How jobs end without a run, and how they are forgotten.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "serve/job_queue.hpp"
#include "serve/job_rules.hpp"

namespace omnirt::serve {
namespace {

// When anything last happened to any job.
int64_t newest_ms(const std::vector<Job>& all) {
  int64_t newest = 0;
  for (const Job& job : all)
    newest = std::max({newest, job.created_ms, job.started_ms, job.ended_ms});
  return newest;
}

}  // namespace

JobQueue::JobQueue(JobStore& store, const QueueClock& clock, QueueLimits limits)
    : store_(store), clock_(clock), limits_(limits), started_ms_(clock.now_ms()) {
  std::vector<Job> all = store_.load();
  for (const Job& job : all) next_number_ = std::max(next_number_, job.number + 1);
  const int64_t newest = newest_ms(all);
  if (newest <= started_ms_ - limits_.keep_ms) stopped_ms_ = started_ms_ - newest;
  // In the order of their ends, so that the oldest are forgotten first.
  std::stable_sort(all.begin(), all.end(),
                   [](const Job& a, const Job& b) { return a.ended_ms < b.ended_ms; });
  for (Job& job : all) restart(std::move(job));
  std::sort(waiting_.begin(), waiting_.end(), [this](const std::string& a, const std::string& b) {
    return jobs_.at(a).number < jobs_.at(b).number;
  });
}

void JobQueue::restart(Job job) {
  if (has_ended(job.state)) {
    ended_.push_back(job.id);
    ended_bytes_ += job.bytes;
    return put(std::move(job));
  }
  shares_.enter(job.client);
  const bool was_running = job.state == JobState::running;
  const int64_t now = clock_.now_ms();
  // A clock that was set back while no server ran.
  job.created_ms = std::min(job.created_ms, now);
  // The connection is gone, whatever else is true of the job.
  if (job.waited_for && !(was_running && job.cancelling))
    end_job(job, JobState::cancelled, client_gone(), now);
  else if (was_running)
    crash_job(job, limits_, now);
  if (has_ended(job.state) || was_running) store_restarted(job);
  if (has_ended(job.state))
    count_end(job);
  else
    waiting_.push_back(job.id);
  put(std::move(job));
}

// A full disk does not keep a server from starting: the next restart decides the same again.
void JobQueue::store_restarted(const Job& job) {
  try {
    store_.update(job);
  } catch (const std::exception& error) {
    spdlog::error("job {} is not stored as restarted: {}", job.id, error.what());
  }
}

const Job* JobQueue::cancel(const std::string& id, const JobReason& reason) {
  auto it = jobs_.find(id);
  if (it == jobs_.end()) return nullptr;
  Job job = it->second;
  if (!cancel_job(job, reason, clock_.now_ms())) return &it->second;
  if (has_ended(job.state)) {
    end(std::move(job));
  } else {
    store_.update(job);
    put(std::move(job));
  }
  return &it->second;
}

void JobQueue::expire(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    Job job = jobs_.at(id);
    if (!expire_job(job, clock_.now_ms())) continue;
    if (has_ended(job.state)) {
      end(std::move(job));
      continue;
    }
    store_.update(job);
    put(std::move(job));
  }
}

bool JobQueue::forget(const std::string& id) {
  auto place = std::find(ended_.begin(), ended_.end(), id);
  if (place == ended_.end()) return false;
  store_.remove(id);
  ended_.erase(place);
  ended_bytes_ -= jobs_.at(id).bytes;
  jobs_.erase(id);
  return true;
}

int64_t JobQueue::kept_until_ms(const Job& ended) const {
  const int64_t stopped = ended.ended_ms < started_ms_ ? stopped_ms_ : 0;
  return ended.ended_ms + limits_.keep_ms + stopped;
}

std::vector<std::string> JobQueue::tick() {
  const int64_t now = clock_.now_ms();
  std::vector<std::string> late;
  auto see = [&](const std::string& id) {
    if (deadline_passed(jobs_.at(id), now)) late.push_back(id);
  };
  for (const std::string& id : waiting_) see(id);
  for (const auto& [id, run] : runs_) see(id);
  expire(late);
  std::vector<std::string> forgotten;
  for (std::string id; !(id = due()).empty();) {
    forget(id);
    forgotten.push_back(id);
  }
  return forgotten;
}

std::string JobQueue::due() const {
  if (ended_.empty()) return "";
  const bool too_much = ended_.size() > limits_.kept || ended_bytes_ > limits_.kept_bytes ||
                        kept_until_ms(jobs_.at(ended_.front())) <= clock_.now_ms();
  return too_much ? ended_.front() : "";
}

}  // namespace omnirt::serve
