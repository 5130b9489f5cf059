// Which job goes first, and how long that takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "serve/job_queue.hpp"

namespace omnirt::serve {

// Of two jobs whose clients have had about the same.
bool JobQueue::Rank::before(const Rank& other) const {
  if (level != other.level) return level > other.level;
  if (key != other.key) return key < other.key;
  return number < other.number;
}

int64_t JobQueue::steps_left(const Job& job) const {
  auto it = runs_.find(job.id);
  if (it == runs_.end()) return job.steps;
  const JobProgress& at = it->second.at;
  return std::max<int64_t>((at.steps > 0 ? at.steps : job.steps) - at.step, 0);
}

double JobQueue::left_ms(const Job& job) const {
  return times_.estimate(job.work, steps_left(job), /*whole=*/true);
}

// With the same ageing for all, remaining - ageing * waited orders two jobs as remaining + ageing *
// created does, at any time: a job is overtaken only by those that come within remaining / ageing.
JobQueue::Rank JobQueue::rank(const Job& job) const {
  const int64_t waited = std::max<int64_t>(clock_.now_ms() - job.created_ms, 0);
  double key = 0;  // of all the same: the earlier goes first
  if (limits_.order == JobOrder::shortest)
    key = left_ms(job) - limits_.ageing * static_cast<double>(waited);
  return {.had = shares_.had(job.client),
          .level = static_cast<int64_t>(job.priority) + waited / limits_.promote_ms,
          .key = key,
          .number = job.number};
}

std::string JobQueue::first(bool queued, std::span<const std::string> paused) const {
  std::vector<std::pair<Rank, const std::string*>> candidates;
  auto add = [&](const std::string& id) { candidates.emplace_back(rank(jobs_.at(id)), &id); };
  for (const std::string& id : paused) add(id);
  if (queued) {
    for (const std::string& id : waiting_) add(id);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [each, id] : candidates) least = std::min(least, each.had);
  const std::pair<Rank, const std::string*>* best = nullptr;
  for (const auto& candidate : candidates) {
    if (candidate.first.had > least + limits_.fair_ms) continue;
    if (!best || candidate.first.before(best->first)) best = &candidate;
  }
  return best ? *best->second : "";
}

int64_t JobQueue::remaining_ms(const std::string& id) const {
  auto it = jobs_.find(id);
  if (it == jobs_.end() || has_ended(it->second.state)) return 0;
  const Job& job = it->second;
  const double own = left_ms(job);
  return std::llround(ahead_ms(rank(job)) + own);
}

// Of the jobs that go before one of this rank.
double JobQueue::ahead_ms(const Rank& rank) const {
  double sum = 0;
  auto add = [&](const std::string& id) {
    const Job& job = jobs_.at(id);
    if (this->rank(job).before(rank)) sum += left_ms(job);
  };
  for (const std::string& id : waiting_) add(id);
  for (const auto& [id, run] : runs_) add(id);
  return sum / static_cast<double>(std::max<size_t>(limits_.at_once, 1));
}

int64_t JobQueue::retry_after_ms() const {
  const size_t jobs = waiting_.size() + runs_.size();
  const Rank last{.level = std::numeric_limits<int64_t>::min()};
  const double all = ahead_ms(last);
  return std::max<int64_t>(std::llround(all / static_cast<double>(std::max<size_t>(jobs, 1))), 1);
}

// Work that was never measured is never refused: nothing is known of it.
void JobQueue::check_deadline(const Submission& submission) const {
  if (submission.deadline_in_ms <= 0) return;
  const int64_t steps = std::max<int64_t>(submission.steps, 1);
  auto own = times_.measured(submission.work, steps, /*whole=*/true);
  if (!own) return;
  const Rank rank{.had = 0,
                  .level = static_cast<int64_t>(submission.priority),
                  .key = limits_.order == JobOrder::shortest ? *own : 0,
                  .number = next_number_};
  const double whole = ahead_ms(rank) + *own;
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
