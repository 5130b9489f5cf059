#include "serve/broker/shared_queue.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "serve/job_rules.hpp"

namespace omnirt::serve {
namespace {

// How often a change is decided anew where others change the same job; more is a fault.
constexpr int most_conflicts = 32;

Broker::Move move_of(const SharedJob& shared) {
  return has_ended(shared.job.state) ? Broker::Move::take_out : Broker::Move::stay;
}

bool holds(const SharedJob& shared, const WorkLease& lease) {
  return shared.job.state == JobState::running && shared.job.attempts == lease.attempt &&
         shared.worker == lease.worker;
}

// Its run has ended it before, and the answer was lost.
bool ended_by(const SharedJob& shared, const WorkLease& lease) {
  return has_ended(shared.job.state) && shared.job.attempts == lease.attempt &&
         shared.worker == lease.worker;
}

}  // namespace

std::vector<JobInLine> line_of(const Snapshot& now) {
  std::vector<JobInLine> line;
  line.reserve(now.line.size());
  for (const SharedJob& each : now.line) {
    auto had = now.shares.find(each.job.client);
    line.push_back({&each.job, steps_left(each.job, each.progress),
                    had == now.shares.end() ? 0 : had->second});
  }
  return line;
}

bool takes(const Member& member, const SharedJob& job) {
  return member.works && member.parts.contains(job.part) && member.models.contains(job.job.model);
}

bool lives(const Member& member, int64_t now_ms) {
  return member.seen_ms + member.lease_ms >= now_ms;
}

// The longest of those at the broker, so that processes that were started with others do not
// declare each other dead.
int64_t SharedQueue::lease_ms(const Snapshot& now) const {
  int64_t most = self_.lease_ms;
  for (const Member& each : now.members) {
    if (lives(each, now.now_ms())) most = std::max(most, each.lease_ms);
  }
  return most;
}

bool SharedQueue::may_be_dead(const Snapshot& now) const {
  return now.up_ms > lease_ms(now);
}

// As many runs at once as there are workers; which job goes first is the servers' to say.
QueueLimits SharedQueue::limits_for(const Snapshot& now) const {
  QueueLimits limits = limits_;
  for (const Member& each : now.members) {
    if (self_.works && !each.works && lives(each, now.now_ms())) limits.order = each.order;
  }
  limits.at_once = static_cast<size_t>(
      std::count_if(now.members.begin(), now.members.end(),
                    [&](const Member& each) { return each.works && lives(each, now.now_ms()); }));
  return limits;
}

void SharedQueue::changed(const SharedJob& shared) const {
  if (on_change) on_change(shared.job);
}

// Nothing where there is no such job. `how` gives nothing where nothing is to be changed.
std::optional<SharedJob> SharedQueue::change(const std::string& id, const Change& how) {
  for (int attempt = 0; attempt < most_conflicts; ++attempt) {
    auto found = broker_.find(id, false);
    if (!found) return std::nullopt;
    const JobState before = found->job.state;
    auto move = how(*found, broker_.now_ms());
    if (!move) return found;
    if (!broker_.commit(*found, *move)) continue;
    if (found->job.state != before || found->job.cancelling) changed(*found);
    return found;
  }
  throw RunFailed("job " + id + " changes faster than it can be changed");
}

SharedJob SharedQueue::submit(const Submission& submission, WorkPart part, const FileBytes& files) {
  check_texts(submission);
  Snapshot now = broker_.snapshot();
  const QueueLimits limits = limits_for(now);
  JobOrdering(limits, now.times, now.now_ms()).check(submission, now.now_us, line_of(now));
  SharedJob shared;
  shared.job = accepted_job(submission, now.now_us, now.now_ms());
  shared.part = part;
  if (submission.waited_for) shared.waiter = self_.id;
  if (!files.empty()) broker_.put_files(submission.id, 0, files);
  if (!broker_.commit(shared, Broker::Move::stay))
    throw RunFailed("job " + submission.id + " is there already");
  changed(shared);
  now.line.push_back(shared);
  try {
    dispatch(now);
  } catch (const Error& error) {
    // It is accepted, and another look gives it to a worker.
    spdlog::warn("job {} waits: {}", submission.id, error.what());
  }
  return shared;
}

std::optional<SharedJob> SharedQueue::cancel(const std::string& id, const JobReason& reason) {
  return change(id, [&](SharedJob& shared, int64_t now) -> std::optional<Broker::Move> {
    if (!cancel_job(shared.job, reason, now)) return std::nullopt;
    return move_of(shared);
  });
}

void SharedQueue::join(bool leaving) {
  self_.leaving = leaving;
  broker_.join(self_);
}

std::optional<SharedQueue::Taken> SharedQueue::take(int64_t wait_ms) {
  if (unsure_) release_own();
  dispatch();
  unsure_ = true;
  auto entry = broker_.next(self_, wait_ms);
  auto taken = entry ? begin(*entry) : std::nullopt;
  unsure_ = false;
  return taken;
}

// What this worker is said to run or was given, and does not know of: it takes one at a time, and
// now takes another.
void SharedQueue::release_own() {
  const Snapshot now = broker_.snapshot();
  for (const SharedJob& each : now.line) {
    if (each.job.state == JobState::running && each.worker == self_.id)
      release({each.job.id, each.job.attempts, each.entry, "", self_.id});
  }
  for (const WorkEntry& each : broker_.pending(self_)) lose(each);
  unsure_ = false;
}

std::optional<SharedQueue::Taken> SharedQueue::begin(const WorkEntry& entry) {
  std::optional<SharedJob> found;
  if (!entry.job.empty()) found = broker_.find(entry.job, true);
  if (!found) {
    const char* why = entry.job.empty() ? "is malformed" : "names no job";
    ++counts_.dead_letters;
    spdlog::error("an entry of {} {}; it is a dead letter now", entry.stream, why);
    broker_.drop(entry, why);
    return std::nullopt;
  }
  if (found->entry != entry.id) {
    broker_.drop(entry, "");
    return std::nullopt;
  }
  // Given out again although it runs: the stream's group was made anew, say.
  if (found->job.state != JobState::queued || !takes(self_, *found)) {
    lose(entry);
    return std::nullopt;
  }
  begin_job(found->job, broker_.now_ms());
  found->worker = self_.id;
  found->progress = {};
  if (!broker_.commit(*found, Broker::Move::stay)) return std::nullopt;
  changed(*found);
  WorkLease lease{found->job.id, found->job.attempts, entry.id, entry.stream, self_.id};
  return Taken{std::move(lease), std::move(*found)};
}

bool SharedQueue::end_lease(const WorkLease& lease,
                            const std::function<void(SharedJob&, int64_t)>& how) {
  bool held = false;
  change(lease.job, [&](SharedJob& shared, int64_t now) -> std::optional<Broker::Move> {
    held = holds(shared, lease);
    if (!held) {
      held = ended_by(shared, lease);
      return std::nullopt;
    }
    how(shared, now);
    return Broker::Move::take_out;
  });
  if (!held) ++counts_.void_results;
  return held;
}

bool SharedQueue::finish(const WorkLease& lease, const std::string& result, int64_t bytes) {
  return end_lease(lease, [&](SharedJob& shared, int64_t now) {
    finish_job(shared.job, result, bytes, now);
    shared.files_attempt = lease.attempt;
  });
}

bool SharedQueue::fail(const WorkLease& lease, const JobReason& reason) {
  return end_lease(lease,
                   [&](SharedJob& shared, int64_t now) { fail_job(shared.job, reason, now); });
}

bool SharedQueue::release(const WorkLease& lease) {
  return end_lease(lease, [&](SharedJob& shared, int64_t now) {
    if (shared.job.cancelling) return fail_job(shared.job, {}, now);
    shared.job.state = JobState::queued;
  });
}

bool SharedQueue::pass_on(const WorkLease& lease, WorkPart next) {
  return end_lease(lease, [&](SharedJob& shared, int64_t now) {
    if (shared.job.cancelling) return fail_job(shared.job, {}, now);
    shared.job.state = JobState::queued;
    shared.part = next;
    shared.files_attempt = lease.attempt;
  });
}

bool SharedQueue::needs_whole(const WorkLease& lease) {
  return end_lease(lease, [&](SharedJob& shared, int64_t now) {
    if (shared.job.cancelling) return fail_job(shared.job, {}, now);
    shared.job.state = JobState::queued;
    shared.part = WorkPart::whole;
  });
}

}  // namespace omnirt::serve
