#include "serve/job_queue.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "serve/job_ordering.hpp"
#include "serve/job_rules.hpp"

namespace omnirt::serve {

JobOrdering JobQueue::ordering() const {
  return {limits_, times_, clock_.now_ms()};
}

JobInLine JobQueue::in_line(const Job& job) const {
  const JobProgress* at = progress_of(job.id);
  return {&job, steps_left(job, at ? *at : JobProgress{}), shares_.had(job.client)};
}

// What is queued and running.
std::vector<JobInLine> JobQueue::line() const {
  std::vector<JobInLine> all;
  all.reserve(waiting_.size() + runs_.size());
  for (const std::string& id : waiting_) all.push_back(in_line(jobs_.at(id)));
  for (const auto& [id, run] : runs_) all.push_back(in_line(jobs_.at(id)));
  return all;
}

std::vector<JobInLine> JobQueue::candidates(bool queued,
                                            std::span<const std::string> paused) const {
  std::vector<JobInLine> all;
  all.reserve(paused.size() + waiting_.size());
  for (const std::string& id : paused) all.push_back(in_line(jobs_.at(id)));
  if (queued) {
    for (const std::string& id : waiting_) all.push_back(in_line(jobs_.at(id)));
  }
  return all;
}

std::string JobQueue::first(bool queued, std::span<const std::string> paused) const {
  const Job* best = ordering().first(candidates(queued, paused));
  return best ? best->id : "";
}

std::vector<std::string> JobQueue::alike(const std::string& first, bool queued,
                                         std::span<const std::string> paused) const {
  std::vector<std::string> ids;
  for (const Job* job : ordering().alike(jobs_.at(first), candidates(queued, paused)))
    ids.push_back(job->id);
  return ids;
}

int64_t JobQueue::remaining_ms(const std::string& id) const {
  const Job* job = find(id);
  if (!job || has_ended(job->state)) return 0;
  return ordering().remaining_ms(in_line(*job), line());
}

int64_t JobQueue::retry_after_ms() const {
  return ordering().retry_after_ms(line());
}

const Job& JobQueue::submit(const Submission& submission) {
  check_texts(submission);
  ensure(!jobs_.contains(submission.id), "job {} is there already", submission.id);
  ordering().check(submission, next_number_, line());
  Job job = accepted_job(submission, next_number_, clock_.now_ms());
  store_.insert(job);
  ++next_number_;
  shares_.enter(job.client);
  waiting_.push_back(job.id);
  put(std::move(job));
  return jobs_.at(submission.id);
}

// Texts that are not needed any more leave their memory, too.
void JobQueue::put(Job job) {
  Job& kept = jobs_[job.id];
  kept = std::move(job);
  if (has_ended(kept.state)) {
    kept.request = {};
    kept.result = {};
    kept.request.shrink_to_fit();
    kept.result.shrink_to_fit();
  }
  if (on_change) on_change(kept);
}

Lease JobQueue::lease(const std::string& id) {
  auto place = std::find(waiting_.begin(), waiting_.end(), id);
  ensure(place != waiting_.end(), "job {} does not wait", id);
  Job job = jobs_.at(id);
  begin_job(job, clock_.now_ms());
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

// What steps take is learned of those that a run has alone.
bool JobQueue::progress(const Lease& lease, const JobProgress& progress, double ms, size_t runs) {
  Job* job = leased(lease);
  if (!job) return false;
  Run& run = runs_.at(lease.id);
  const int64_t steps = progress.step - run.at.step;
  if (steps <= 0)
    run.other_ms += ms / static_cast<double>(runs);
  else if (runs == 1)
    times_.learn_step(job->work, ms / static_cast<double>(steps));
  run.at = progress;
  shares_.charge(job->client, ms / static_cast<double>(runs));
  return !job->cancelling;
}

void JobQueue::take_out(const std::string& id) {
  auto place = std::find(waiting_.begin(), waiting_.end(), id);
  if (place != waiting_.end()) waiting_.erase(place);
  runs_.erase(id);
}

// A job that has ended by a rule.
void JobQueue::end(Job ended) {
  store_.update(ended);
  count_end(ended);
  put(std::move(ended));
}

void JobQueue::count_end(const Job& ended) {
  take_out(ended.id);
  shares_.leave(ended.client);
  ended_.push_back(ended.id);
  ended_bytes_ += ended.bytes;
}

bool JobQueue::finish(const Lease& lease, const std::string& result, int64_t bytes) {
  Job* job = leased(lease);
  if (!job) return false;
  Job ended = *job;
  finish_job(ended, result, bytes, clock_.now_ms());
  times_.learn_other(job->work, runs_.at(lease.id).other_ms);
  end(std::move(ended));
  return true;
}

bool JobQueue::fail(const Lease& lease, JobReason reason) {
  Job* job = leased(lease);
  if (!job) return false;
  Job ended = *job;
  fail_job(ended, std::move(reason), clock_.now_ms());
  end(std::move(ended));
  return true;
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
  fail_job(ended, std::move(reason), clock_.now_ms());
  count_end(ended);
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
