#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "base/choice.hpp"

namespace omnirt::serve {

enum class JobState {
  queued,
  running,
  done,
  failed,
  cancelled,
  expired,  // its deadline passed first
  dead,     // the process ended in it too often: it is not tried again
};

enum class Priority { low, normal, high };

// Why a job has no result. `kind` is an error's class (OutOfMemory, ...), or one of the queue's
// own: Cancelled, DeadlinePassed, Crashed.
struct JobReason {
  std::string kind;
  std::string message;
  bool operator==(const JobReason&) const = default;
};

// One accepted request and what became of it. Times are milliseconds of the queue's clock.
struct Job {
  std::string id;
  int64_t number = 0;   // in the order of acceptance
  std::string client;   // whose share of the time it takes
  std::string model;    // as the request names it
  std::string work;     // jobs of one text take about the same time per step (StepTimes)
  std::string request;  // as the run is given it
  Priority priority = Priority::normal;
  int64_t steps = 1;        // network steps, as far as the request says
  int64_t created_ms = 0;   // accepted
  int64_t deadline_ms = 0;  // 0: none
  int64_t started_ms = 0;   // of the last attempt; 0: never
  int64_t ended_ms = 0;
  int64_t attempts = 0;  // how often it was leased
  int64_t crashes = 0;   // of these, how often the process ended before it did
  JobState state = JobState::queued;
  bool waited_for = false;  // by an open connection, with which it ends
  bool cancelling = false;  // running, and asked to stop
  JobReason reason;
  std::string result;  // of one that is done
  int64_t bytes = 0;   // of its files
};

bool has_ended(JobState state);

// The most that a store takes; longer texts are refused where they come from outside (requests),
// and cut where they only explain (reasons).
inline constexpr size_t max_job_request_bytes = size_t{1} << 20;
inline constexpr size_t max_job_result_bytes = size_t{1} << 20;
inline constexpr size_t max_job_reason_bytes = 4096;
inline constexpr size_t max_job_word_bytes = 1024;

}  // namespace omnirt::serve

namespace omnirt {
template <>
struct ChoiceNames<serve::JobState> {
  static constexpr std::array names{"queued",    "running", "done", "failed",
                                    "cancelled", "expired", "dead"};
};
template <>
struct ChoiceNames<serve::Priority> {
  static constexpr std::array names{"low", "normal", "high"};
};
}  // namespace omnirt
