// How jobs end without a run, and how they are forgotten.
#include <algorithm>

#include "serve/job_queue.hpp"
#include "serve/job_rules.hpp"

namespace omnirt::serve {

JobQueue::JobQueue(JobStore& store, const QueueClock& clock, QueueLimits limits)
    : store_(store), clock_(clock), limits_(limits) {
  std::vector<Job> all = store_.load();
  for (const Job& job : all) next_number_ = std::max(next_number_, job.number + 1);
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
  if (has_ended(job.state)) return end(std::move(job));
  if (was_running) store_.update(job);
  waiting_.push_back(job.id);
  put(std::move(job));
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
  auto too_much = [&] {
    return ended_.size() > limits_.kept || ended_bytes_ > limits_.kept_bytes ||
           jobs_.at(ended_.front()).ended_ms + limits_.keep_ms <= now;
  };
  while (!ended_.empty() && too_much()) {
    const std::string id = ended_.front();
    forget(id);
    forgotten.push_back(id);
  }
  return forgotten;
}

}  // namespace omnirt::serve
