#include "serve/job_queue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ensure.hpp"

namespace omnirt::serve {
namespace {

void check_text(const char* field, const std::string& text, size_t most) {
  if (text.size() <= most) return;
  throw InvalidRequest({field, fmt::format("{} bytes", text.size()),
                        fmt::format("longer than {} bytes", most), "shorten it"});
}

JobReason cut(JobReason reason) {
  reason.kind.resize(std::min(reason.kind.size(), max_job_word_bytes));
  reason.message.resize(std::min(reason.message.size(), max_job_reason_bytes));
  return reason;
}

}  // namespace

void JobQueue::check(const Submission& submission) const {
  check_text("model", submission.model, max_job_word_bytes);
  check_text("request", submission.request, max_job_request_bytes);
  ensure(submission.work.size() <= max_job_word_bytes, "a kind of work has a long name");
  ensure(!jobs_.contains(submission.id), "job {} is there already", submission.id);
  if (waiting_.size() >= limits_.waiting) {
    throw QueueRefusal("QueueFull", fmt::format("{} jobs are waiting", waiting_.size()),
                       retry_after_ms());
  }
  const size_t own = shares_.jobs(submission.client);
  if (submission.client_jobs > 0 && own >= submission.client_jobs) {
    throw QueueRefusal(
        "TooManyJobs",
        fmt::format("this client has {} jobs, and may have {}", own, submission.client_jobs),
        retry_after_ms());
  }
}

const Job& JobQueue::submit(const Submission& submission) {
  check(submission);
  check_deadline(submission);
  Job job;
  job.id = submission.id;
  job.number = next_number_;
  job.client = submission.client;
  job.model = submission.model;
  job.work = submission.work;
  job.request = submission.request;
  job.priority = submission.priority;
  job.steps = std::max<int64_t>(submission.steps, 1);
  job.created_ms = clock_.now_ms();
  if (submission.deadline_in_ms > 0) job.deadline_ms = job.created_ms + submission.deadline_in_ms;
  job.bytes = submission.bytes;
  job.waited_for = submission.waited_for;
  store_.insert(job);
  ++next_number_;
  shares_.enter(job.client);
  waiting_.push_back(job.id);
  put(std::move(job));
  return jobs_.at(submission.id);
}

void JobQueue::put(Job job) {
  Job& kept = jobs_[job.id];
  kept = std::move(job);
  if (on_change) on_change(kept);
}

Lease JobQueue::lease(const std::string& id) {
  auto place = std::find(waiting_.begin(), waiting_.end(), id);
  ensure(place != waiting_.end(), "job {} does not wait", id);
  Job job = jobs_.at(id);
  job.state = JobState::running;
  job.started_ms = clock_.now_ms();
  ++job.attempts;
  store_.update(job);
  waiting_.erase(place);
  runs_[id] = {};
  const Lease lease{id, job.attempts};
  put(std::move(job));
  return lease;
}

Job* JobQueue::leased(const Lease& lease) {
  auto it = jobs_.find(lease.id);
  if (it == jobs_.end()) return nullptr;
  Job& job = it->second;
  const bool holds = job.state == JobState::running && job.attempts == lease.attempt;
  return holds ? &job : nullptr;
}

bool JobQueue::progress(const Lease& lease, const JobProgress& progress, double ms) {
  Job* job = leased(lease);
  if (!job) return false;
  Run& run = runs_.at(lease.id);
  const int64_t steps = progress.step - run.at.step;
  if (steps > 0)
    times_.learn_step(job->work, ms / static_cast<double>(steps));
  else
    run.other_ms += ms;
  run.at = progress;
  shares_.charge(job->client, ms);
  return !job->cancelling;
}

// What asked a run to stop decides how it ends.
void JobQueue::settle(Job& job, const JobReason& reason) const {
  if (job.cancelling)
    job.state = job.reason.kind == "DeadlinePassed" ? JobState::expired : JobState::cancelled;
  if (job.state == JobState::failed) job.reason = cut(reason);
  if (job.state != JobState::done) job.result.clear();
}

void JobQueue::take_out(const std::string& id) {
  auto place = std::find(waiting_.begin(), waiting_.end(), id);
  if (place != waiting_.end()) waiting_.erase(place);
  runs_.erase(id);
}

bool JobQueue::end_run(const Lease& lease, Job ended) {
  ended.ended_ms = clock_.now_ms();
  store_.update(ended);
  take_out(lease.id);
  shares_.leave(ended.client);
  ended.request.clear();
  ended_.push_back(lease.id);
  ended_bytes_ += ended.bytes;
  put(std::move(ended));
  return true;
}

bool JobQueue::finish(const Lease& lease, const std::string& result, int64_t bytes) {
  Job* job = leased(lease);
  if (!job) return false;
  check_text("result", result, max_job_result_bytes);
  const Run& run = runs_.at(lease.id);
  times_.learn_other(job->work, run.other_ms);
  Job ended = *job;
  ended.state = JobState::done;
  ended.result = result;
  ended.bytes = bytes + static_cast<int64_t>(result.size());
  settle(ended, {});
  return end_run(lease, std::move(ended));
}

bool JobQueue::fail(const Lease& lease, JobReason reason) {
  Job* job = leased(lease);
  if (!job) return false;
  Job ended = *job;
  ended.state = JobState::failed;
  settle(ended, reason);
  return end_run(lease, std::move(ended));
}

bool JobQueue::release(const Lease& lease) {
  Job* job = leased(lease);
  if (!job) return false;
  if (job->cancelling) return fail(lease, {});
  Job again = *job;
  again.state = JobState::queued;
  store_.update(again);
  runs_.erase(lease.id);
  waiting_.push_back(lease.id);
  put(std::move(again));
  return true;
}

void JobQueue::abandon(const Lease& lease, JobReason reason) {
  Job* job = leased(lease);
  if (!job) return;
  Job ended = *job;
  ended.state = JobState::failed;
  ended.ended_ms = clock_.now_ms();
  settle(ended, reason);
  take_out(lease.id);
  shares_.leave(ended.client);
  ended_.push_back(lease.id);
  ended_bytes_ += ended.bytes;
  put(std::move(ended));
}

const Job* JobQueue::find(const std::string& id) const {
  auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const JobProgress* JobQueue::progress_of(const std::string& id) const {
  auto it = runs_.find(id);
  return it == runs_.end() ? nullptr : &it->second.at;
}

}  // namespace omnirt::serve
