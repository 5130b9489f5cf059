#pragma once
#include <string>

#include "base/json.hpp"
#include "serve/job.hpp"
#include "serve/job_events.hpp"

namespace omnirt::serve {

// Records that a database or a Redis returns. Anyone who can write there may have written them, so
// each is checked as a whole before any part of it is used. All throw InvalidFile, which names the
// record and the field.

// Attempts are counted to, and steps and times are calculated with.
inline constexpr int64_t max_job_attempts = 10'000, max_job_steps = 1'000'000'000;
inline constexpr int64_t max_stored_number = int64_t{1} << 53;
// Files of one job: the artifacts of a request (--max-images) and what was sent with it.
inline constexpr size_t max_job_files = 1'200;

void check_stored_job(const Job& job);
// The result of a finished job, as RunOnSession writes it.
Json read_stored_result(const std::string& text);
// A finished job whose result cannot be read becomes a dead one, with the reason.
void settle_stored_result(Job& job);
void check_stored_event(const JobEvent& event);

}  // namespace omnirt::serve
