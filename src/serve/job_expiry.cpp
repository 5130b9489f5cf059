// How jobs end without a run, and how they are forgotten.
#include <fmt/format.h>

#include <algorithm>

#include "serve/job_queue.hpp"

namespace omnirt::serve {
namespace {

const JobReason gone{"ClientGone", "the server ended while the client waited"};
const JobReason too_late{"DeadlinePassed", "the deadline passed before the job was done"};

}  // namespace

JobReason cancelled_by_client() {
  return {"Cancelled", "the job was cancelled"};
}
JobReason server_ends() {
  return {"ServerEnding", "the server ended before the job was done"};
}

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

// The process ended in what was running: that one crash is counted before anything else is done.
void JobQueue::restart(Job job) {
  if (has_ended(job.state)) {
    ended_.push_back(job.id);
    ended_bytes_ += job.bytes;
    job.request.clear();
    return put(std::move(job));
  }
  shares_.enter(job.client);
  const bool was_running = job.state == JobState::running;
  // A clock that was set back while no server ran.
  job.created_ms = std::min(job.created_ms, clock_.now_ms());
  if (was_running && job.cancelling)
    return end(std::move(job), JobState::cancelled, cancelled_by_client());
  if (job.waited_for) return end(std::move(job), JobState::cancelled, gone);
  if (was_running && ++job.crashes >= limits_.crashes) {
    JobReason reason{"Crashed", fmt::format("the server ended {} times during this job, which is "
                                            "not tried again",
                                            job.crashes)};
    return end(std::move(job), JobState::dead, std::move(reason));
  }
  job.state = JobState::queued;
  if (was_running) store_.update(job);
  waiting_.push_back(job.id);
  put(std::move(job));
}

void JobQueue::end(Job job, JobState state, JobReason reason) {
  job.state = state;
  job.reason = std::move(reason);
  job.ended_ms = clock_.now_ms();
  store_.update(job);
  take_out(job.id);
  shares_.leave(job.client);
  job.request.clear();
  ended_.push_back(job.id);
  ended_bytes_ += job.bytes;
  put(std::move(job));
}

const Job* JobQueue::cancel(const std::string& id, const JobReason& reason) {
  auto it = jobs_.find(id);
  if (it == jobs_.end()) return nullptr;
  Job job = it->second;
  if (job.state == JobState::queued) {
    end(std::move(job), JobState::cancelled, reason);
  } else if (job.state == JobState::running && !job.cancelling) {
    job.cancelling = true;
    job.reason = reason;
    store_.update(job);
    put(std::move(job));
  }
  return &it->second;
}

void JobQueue::expire(std::vector<std::string> ids) {
  for (const std::string& id : ids) {
    Job job = jobs_.at(id);
    if (job.state == JobState::queued) {
      end(std::move(job), JobState::expired, too_late);
      continue;
    }
    job.cancelling = true;
    job.reason = too_late;
    store_.update(job);
    put(std::move(job));
  }
}

void JobQueue::forget_one(std::vector<std::string>& forgotten) {
  const std::string id = ended_.front();
  store_.remove(id);
  ended_.pop_front();
  ended_bytes_ -= jobs_.at(id).bytes;
  jobs_.erase(id);
  forgotten.push_back(id);
}

std::vector<std::string> JobQueue::tick() {
  const int64_t now = clock_.now_ms();
  std::vector<std::string> late;
  auto see = [&](const std::string& id) {
    const Job& job = jobs_.at(id);
    if (job.deadline_ms > 0 && job.deadline_ms <= now && !job.cancelling) late.push_back(id);
  };
  for (const std::string& id : waiting_) see(id);
  for (const auto& [id, run] : runs_) see(id);
  expire(std::move(late));
  std::vector<std::string> forgotten;
  auto too_much = [&] {
    return ended_.size() > limits_.kept || ended_bytes_ > limits_.kept_bytes ||
           jobs_.at(ended_.front()).ended_ms + limits_.keep_ms <= now;
  };
  while (!ended_.empty() && too_much()) forget_one(forgotten);
  return forgotten;
}

}  // namespace omnirt::serve
