#include "serve/job_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ensure.hpp"

namespace omnirt::serve {
namespace {

const JobReason too_late{"DeadlinePassed", "the deadline passed before the job was done"};

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

void settle(Job& job, int64_t now_ms) {
  if (job.cancelling)
    job.state = job.reason.kind == too_late.kind ? JobState::expired : JobState::cancelled;
  if (job.state != JobState::done) job.result.clear();
  job.ended_ms = now_ms;
}

}  // namespace

JobReason cancelled_by_client() {
  return {"Cancelled", "the job was cancelled"};
}
JobReason server_ends() {
  return {"ServerEnding", "the server ended before the job was done"};
}
JobReason client_gone() {
  return {"ClientGone", "the server ended while the client waited"};
}

void check_texts(const Submission& submission) {
  check_text("model", submission.model, max_job_word_bytes);
  check_text("request", submission.request, max_job_request_bytes);
  ensure(submission.work.size() <= max_job_word_bytes, "a kind of work has a long name");
}

Job accepted_job(const Submission& submission, int64_t number, int64_t now_ms) {
  Job job;
  job.id = submission.id;
  job.number = number;
  job.client = submission.client;
  job.model = submission.model;
  job.work = submission.work;
  job.request = submission.request;
  job.priority = submission.priority;
  job.steps = std::max<int64_t>(submission.steps, 1);
  job.created_ms = now_ms;
  if (submission.deadline_in_ms > 0) job.deadline_ms = job.created_ms + submission.deadline_in_ms;
  job.bytes = submission.bytes;
  job.waited_for = submission.waited_for;
  return job;
}

void begin_job(Job& job, int64_t now_ms) {
  job.state = JobState::running;
  job.started_ms = now_ms;
  job.reason = {};
  ++job.attempts;
}

void end_job(Job& job, JobState state, JobReason reason, int64_t now_ms) {
  job.state = state;
  job.reason = std::move(reason);
  job.ended_ms = now_ms;
}

void finish_job(Job& job, const std::string& result, int64_t bytes, int64_t now_ms) {
  check_text("result", result, max_job_result_bytes);
  job.state = JobState::done;
  job.result = result;
  job.bytes = bytes + static_cast<int64_t>(result.size());
  if (!job.cancelling) job.reason = {};
  settle(job, now_ms);
}

void fail_job(Job& job, JobReason reason, int64_t now_ms) {
  job.state = JobState::failed;
  if (!job.cancelling) job.reason = cut(std::move(reason));
  settle(job, now_ms);
}

// That one crash is counted before anything else is done.
void crash_job(Job& job, const QueueLimits& limits, int64_t now_ms) {
  if (job.cancelling) return end_job(job, JobState::cancelled, cancelled_by_client(), now_ms);
  if (++job.crashes < limits.crashes) {
    job.state = JobState::queued;
    return;
  }
  end_job(job, JobState::dead,
          {"Crashed", fmt::format("the process that ran this job ended {} times; it is not tried "
                                  "again",
                                  job.crashes)},
          now_ms);
}

bool cancel_job(Job& job, const JobReason& reason, int64_t now_ms) {
  if (job.state == JobState::queued) {
    end_job(job, JobState::cancelled, reason, now_ms);
    return true;
  }
  if (job.state != JobState::running || job.cancelling) return false;
  job.cancelling = true;
  job.reason = reason;
  return true;
}

bool deadline_passed(const Job& job, int64_t now_ms) {
  return job.deadline_ms > 0 && job.deadline_ms <= now_ms && !job.cancelling;
}

bool expire_job(Job& job, int64_t now_ms) {
  if (!deadline_passed(job, now_ms) || has_ended(job.state)) return false;
  const bool cancelled = cancel_job(job, too_late, now_ms);
  if (cancelled && job.state == JobState::cancelled) job.state = JobState::expired;
  return cancelled;
}

}  // namespace omnirt::serve
