#pragma once
#include "serve/job_queue.hpp"

namespace omnirt::serve {

// What becomes of one job at each event of its life, wherever it is kept. Pure: a job in, the same
// job changed.

// Throws InvalidRequest where a text is longer than a store takes.
void check_texts(const Submission& submission);
// A queued job of the submission, as accepted now.
Job accepted_job(const Submission& submission, int64_t number, int64_t now_ms);
// A run of it begins.
void begin_job(Job& job, int64_t now_ms);
// It ends without a run.
void end_job(Job& job, JobState state, JobReason reason, int64_t now_ms);
// Its run ends, done or failed; what asked a run to stop decides how it ends.
void finish_job(Job& job, const std::string& result, int64_t bytes, int64_t now_ms);
void fail_job(Job& job, JobReason reason, int64_t now_ms);
// The process that ran it is gone: it is queued again, or has ended (cancelled, where that was
// asked for; dead, after its last crash).
void crash_job(Job& job, const QueueLimits& limits, int64_t now_ms);
// A queued one ends, a running one is asked to stop. False: nothing is to be changed.
bool cancel_job(Job& job, const JobReason& reason, int64_t now_ms);
// The same where its deadline has passed.
bool expire_job(Job& job, int64_t now_ms);
bool deadline_passed(const Job& job, int64_t now_ms);
// Why jobs end for which a connection waited that is gone.
JobReason client_gone();

}  // namespace omnirt::serve
