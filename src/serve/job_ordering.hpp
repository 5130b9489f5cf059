#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "serve/job_queue.hpp"

namespace omnirt::serve {

// A job that is queued or running, as the order looks at it.
struct JobInLine {
  const Job* job = nullptr;
  int64_t steps_left = 0;
  double had_ms = 0;  // of computing that its client has had
};

// Where a job stands among those whose clients have had about the same.
struct JobRank {
  int64_t level = 0;
  double key = 0;
  int64_t number = 0;
  bool before(const JobRank& other) const;
};

// The order of a queue (docs/server.md) and what follows from it, at one moment: functions of the
// jobs in line, of what was measured, and of nothing else.
class JobOrdering {
 public:
  JobOrdering(const QueueLimits& limits, const StepTimes& times, int64_t now_ms)
      : limits_(limits), times_(times), now_ms_(now_ms) {}

  JobRank rank(const JobInLine& each) const;
  // Which of these goes first; null where there is none.
  const Job* first(std::span<const JobInLine> candidates) const;
  // Those that may go with the first one and have the same work, in order, the first one included.
  std::vector<const Job*> alike(const Job& first, std::span<const JobInLine> candidates) const;
  // Milliseconds of computing, by measured times: until this job ends, and until a place comes
  // free.
  int64_t remaining_ms(const JobInLine& each, std::span<const JobInLine> line) const;
  int64_t retry_after_ms(std::span<const JobInLine> line) const;
  // Throws QueueRefusal where the measured times say that the deadline cannot be met, or as many
  // jobs wait, or are the client's, as may.
  void check(const Submission& submission, int64_t number, std::span<const JobInLine> line) const;

 private:
  std::vector<JobInLine> fair(std::span<const JobInLine> candidates) const;
  double left_ms(const JobInLine& each) const;
  double ahead_ms(const JobRank& rank, std::span<const JobInLine> line) const;
  void check_deadline(const Submission& submission, int64_t number,
                      std::span<const JobInLine> line) const;

  const QueueLimits& limits_;
  const StepTimes& times_;
  int64_t now_ms_;
};

// Steps that a job has left where its run is so far.
int64_t steps_left(const Job& job, const JobProgress& at);

}  // namespace omnirt::serve
