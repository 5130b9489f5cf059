#include "serve/job_ordering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace omnirt::serve {

bool JobRank::before(const JobRank& other) const {
  if (level != other.level) return level > other.level;
  if (key != other.key) return key < other.key;
  return number < other.number;
}

int64_t steps_left(const Job& job, const JobProgress& at) {
  return std::max<int64_t>((at.steps > 0 ? at.steps : job.steps) - at.step, 0);
}

double JobOrdering::left_ms(const JobInLine& each) const {
  return times_.estimate(each.job->work, each.steps_left, /*whole=*/true);
}

// With the same ageing for all, remaining - ageing * waited orders two jobs as remaining + ageing *
// created does, at any time: a job is overtaken only by those that come within remaining / ageing.
JobRank JobOrdering::rank(const JobInLine& each) const {
  const Job& job = *each.job;
  const int64_t waited = std::max<int64_t>(now_ms_ - job.created_ms, 0);
  double key = 0;  // of all the same: the earlier goes first
  if (limits_.order == JobOrder::shortest)
    key = left_ms(each) - limits_.ageing * static_cast<double>(waited);
  return {.level = static_cast<int64_t>(job.priority) + waited / limits_.promote_ms,
          .key = key,
          .number = job.number};
}

// Those of clients that have had about as little as the one that has had least.
std::vector<JobInLine> JobOrdering::fair(std::span<const JobInLine> candidates) const {
  double least = std::numeric_limits<double>::infinity();
  for (const JobInLine& each : candidates) least = std::min(least, each.had_ms);
  std::vector<JobInLine> some;
  std::ranges::copy_if(candidates, std::back_inserter(some), [&](const JobInLine& each) {
    return each.had_ms <= least + limits_.fair_ms;
  });
  return some;
}

std::vector<const Job*> JobOrdering::alike(const Job& first,
                                           std::span<const JobInLine> candidates) const {
  std::vector<std::pair<JobRank, const Job*>> some;
  for (const JobInLine& each : fair(candidates)) {
    if (each.job->work == first.work) some.emplace_back(rank(each), each.job);
  }
  std::ranges::sort(some, [](const auto& a, const auto& b) { return a.first.before(b.first); });
  std::vector<const Job*> jobs;
  for (const auto& [rank, job] : some) {
    // One of a lower priority would slow a higher one down.
    if (rank.level >= some.front().first.level) jobs.push_back(job);
  }
  return jobs;
}

const Job* JobOrdering::first(std::span<const JobInLine> candidates) const {
  const Job* best = nullptr;
  JobRank best_rank;
  for (const JobInLine& each : fair(candidates)) {
    const JobRank own = rank(each);
    if (best && !own.before(best_rank)) continue;
    best = each.job;
    best_rank = own;
  }
  return best;
}

int64_t JobOrdering::remaining_ms(const JobInLine& each, std::span<const JobInLine> line) const {
  return std::llround(ahead_ms(rank(each), line) + left_ms(each));
}

// Of the jobs that go before one of this rank.
double JobOrdering::ahead_ms(const JobRank& rank, std::span<const JobInLine> line) const {
  double sum = 0;
  for (const JobInLine& each : line) {
    if (this->rank(each).before(rank)) sum += left_ms(each);
  }
  return sum / static_cast<double>(std::max<size_t>(limits_.at_once, 1));
}

int64_t JobOrdering::retry_after_ms(std::span<const JobInLine> line) const {
  const JobRank last{.level = std::numeric_limits<int64_t>::min()};
  const double all = ahead_ms(last, line);
  return std::max<int64_t>(
      std::llround(all / static_cast<double>(std::max<size_t>(line.size(), 1))), 1);
}

void JobOrdering::check(const Submission& submission, int64_t number,
                        std::span<const JobInLine> line) const {
  size_t waiting = 0, own = 0;
  for (const JobInLine& each : line) {
    if (each.job->state == JobState::queued) ++waiting;
    if (each.job->client == submission.client) ++own;
  }
  if (waiting >= limits_.waiting)
    throw QueueRefusal("QueueFull", fmt::format("{} jobs are waiting", waiting),
                       retry_after_ms(line));
  if (submission.client_jobs > 0 && own >= submission.client_jobs) {
    throw QueueRefusal(
        "TooManyJobs",
        fmt::format("this client has {} jobs, and may have {}", own, submission.client_jobs),
        retry_after_ms(line));
  }
  check_deadline(submission, number, line);
}

// Work that was never measured is never refused: nothing is known of it.
void JobOrdering::check_deadline(const Submission& submission, int64_t number,
                                 std::span<const JobInLine> line) const {
  if (submission.deadline_in_ms <= 0) return;
  const int64_t steps = std::max<int64_t>(submission.steps, 1);
  auto own = times_.measured(submission.work, steps, /*whole=*/true);
  if (!own) return;
  const JobRank rank{.level = static_cast<int64_t>(submission.priority),
                     .key = limits_.order == JobOrder::shortest ? *own : 0,
                     .number = number};
  const double whole = ahead_ms(rank, line) + *own;
  if (whole <= static_cast<double>(submission.deadline_in_ms)) return;
  const bool fits_alone = *own <= static_cast<double>(submission.deadline_in_ms);
  throw QueueRefusal(
      "DeadlineTooSoon",
      fmt::format("the deadline is in {} ms; by the times measured the job would be done in {:.0f} "
                  "ms, of which it computes {:.0f}",
                  submission.deadline_in_ms, whole, *own),
      fits_alone ? std::llround(whole) - submission.deadline_in_ms : 0);
}

}  // namespace omnirt::serve
