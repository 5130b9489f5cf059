#include "serve/shared_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace omnirt::serve {
namespace {

constexpr int64_t lease_ms = 3000, tick_ms = 500, most_without_owner_ms = 5000;

QueueLimits limits() {
  return {.waiting = 16, .kept = 32, .keep_ms = 60'000, .promote_ms = 20'000, .fair_ms = 500};
}

Member server() {
  return {.lease_ms = lease_ms};
}

Member worker(std::set<WorkPart> parts, std::set<std::string> models) {
  if (parts.size() == cut_parts.size()) parts.insert(WorkPart::whole);
  return {
      .works = true, .parts = std::move(parts), .models = std::move(models), .lease_ms = lease_ms};
}

}  // namespace

SharedSimulation::SharedSimulation(uint64_t seed) : seed_(seed), random_(seed) {
  broker_.fault = [this] {
    using Fault = MemoryBroker::Fault;
    if (broker_.now < broken_until_) return Fault::before;
    if (!faulty_ || !chance(0.001)) return Fault::none;
    ++counts_.broker_faults;
    return chance(0.5) ? Fault::before : Fault::after;
  };
  broker_.on_commit = [this](const SharedJob* before, const SharedJob& after) {
    committed(before, after);
  };
  using enum WorkPart;
  const std::set<std::string> both{"a", "b"}, one{"a"};
  for (const Member& each :
       {server(), server(), worker({encode, denoise, decode}, both), worker({encode}, one),
        worker({denoise, decode}, both), worker({encode, denoise, decode}, one)}) {
    processes_.push_back({.member = each});
  }
  for (Process& process : processes_) start(process);
}

bool SharedSimulation::chance(double probability) {
  return static_cast<double>(random_() >> 11) < probability * 9007199254740992.0;
}

int64_t SharedSimulation::between(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
}

void SharedSimulation::require(bool condition, const std::string& what) const {
  if (!condition) throw std::logic_error(fmt::format("seed {}: {}", seed_, what));
}

void SharedSimulation::start(Process& process) {
  if (process.queue) {
    counts_.claims += process.queue->counts().claims;
    counts_.void_results += process.queue->counts().void_results;
  }
  process.member.id = fmt::format("p{}", next_process_++);
  process.queue = std::make_unique<SharedQueue>(broker_, limits(), process.member);
  process.run.reset();
  process.over = false;
  process.beaten_ms = process.ticked_ms = 0;
}

// What runs on it, as the broker knows it, may be counted as crashed.
void SharedSimulation::trouble(const std::string& worker) {
  for (const std::string& id : broker_.line()) {
    const SharedJob& shared = broker_.jobs().at(id);
    if (shared.job.state == JobState::running && (worker.empty() || shared.worker == worker))
      ++lives_.at(id).troubles;
  }
}

void SharedSimulation::crash(Process& process) {
  ++counts_.crashes;
  trouble(process.member.id);
  start(process);
  process.next_ms = broker_.now + between(0, 4000);
  process.idle_since = process.next_ms;
}

void SharedSimulation::committed(const SharedJob* before, const SharedJob& after) {
  const std::string& id = after.job.id;
  if (!before) {
    Life& life = lives_[id];
    life.poison = chance(0.002);
    life.fails = chance(0.01);
    life.step_ms = between(5, 30);
    ++counts_.accepted;
  }
  Life& life = lives_.at(id);
  require(!life.ended, "a job changed after its end: " + id);
  require(after.job.crashes <= life.troubles, "a job crashed in nothing: " + id);
  require(after.job.state != JobState::dead || after.job.crashes == 3,
          "a dead job without its crashes: " + id);
  if (after.job.state == JobState::done)
    require(after.job.result == std::to_string(after.files_attempt), "another run's result: " + id);
  life.ended = has_ended(after.job.state);
  life.ownerless_since = broker_.now;
  if (life.ended) ++counts_.ended[after.job.state];
}

void SharedSimulation::submit(Process& process) {
  const int64_t client = between(0, 5) < 3 ? 0 : between(1, 4);
  const Submission submission{.id = fmt::format("{:x}", random_() >> 8),
                              .client = fmt::format("client{}", client),
                              .model = chance(0.7) ? "a" : "b",
                              .work = fmt::format("work{}", client % 3),
                              .request = "{}",
                              .priority = static_cast<Priority>(between(0, 2)),
                              .steps = chance(0.5) ? 4 : between(1, 20),
                              .deadline_in_ms = chance(0.1) ? between(1, 4000) : 0,
                              .client_jobs = 12,
                              .waited_for = chance(0.2)};
  try {
    process.queue->submit(submission, WorkPart::encode, {{"input-0.png", "bytes"}});
  } catch (const QueueRefusal& refusal) {
    ++counts_.refused;
    require(refusal.kind() == "DeadlineTooSoon" || refusal.retry_after_ms > 0, "no time to retry");
  }
}

void SharedSimulation::act_as_server(Process& process) {
  process.next_ms = broker_.now + between(20, 60);
  if (faulty_ && chance(0.5)) submit(process);
  if (chance(0.01) && !lives_.empty()) {
    auto it = lives_.lower_bound(fmt::format("{:x}", random_() >> 8));
    if (it != lives_.end()) process.queue->cancel(it->first);
  }
}

void SharedSimulation::beat(Process& process) {
  if (broker_.now - process.beaten_ms < lease_ms / 3) return;
  process.queue->join();
  if (process.run) {
    const SharedQueue::Taken& run = *process.run;
    const auto standing =
        broker_.beat(run.lease, {.client = run.shared.job.client,
                                 .computed_ms = 100,
                                 .progress = {"denoise_loop", process.step, run.shared.job.steps}});
    if (standing == Broker::Standing::lost) process.run.reset();
    if (standing == Broker::Standing::cancelling) process.over = true;
  }
  process.beaten_ms = broker_.now;
}

// As many steps as the part has; then the next part, here or elsewhere.
void SharedSimulation::step(Process& process) {
  const Job& job = process.run->shared.job;
  const Life& life = lives_.at(job.id);
  ++process.step;
  process.next_ms = broker_.now + life.step_ms;
  if (life.poison && process.step * 2 > job.steps) return crash(process);
  const bool denoises = process.part == WorkPart::denoise || process.part == WorkPart::whole;
  if (denoises && process.step < job.steps) return;
  if (life.fails && process.step > 2) {
    process.over = true;
    return;
  }
  const bool last = process.part == WorkPart::decode || process.part == WorkPart::whole;
  const auto next = static_cast<WorkPart>(static_cast<int>(process.part) + 1);
  if (last || !process.member.parts.contains(next)) {
    process.over = true;
    return;
  }
  process.part = next;
  process.step = 0;
}

void SharedSimulation::end_run(Process& process) {
  const WorkLease& lease = process.run->lease;
  const Job& job = process.run->shared.job;
  const Life& life = lives_.at(job.id);
  SharedQueue& queue = *process.queue;
  const auto found = broker_.jobs().find(job.id);
  if (found != broker_.jobs().end() && found->second.job.cancelling) {
    queue.fail(lease, {});
  } else if (life.fails && process.step > 2) {
    queue.fail(lease, {"RunFailed", "by the seed"});
  } else if (process.part == WorkPart::decode || process.part == WorkPart::whole) {
    broker_.put_files(job.id, lease.attempt, {{"0.png", std::to_string(lease.attempt)}});
    queue.finish(lease, std::to_string(lease.attempt), 10);
    broker_.learn(job.work, job.steps, static_cast<double>(life.step_ms * job.steps), 5);
  } else {
    ++counts_.passed_on;
    broker_.put_files(job.id, lease.attempt, {{"state", "s"}});
    queue.pass_on(lease, static_cast<WorkPart>(static_cast<int>(process.part) + 1));
  }
  process.run.reset();
  process.over = false;
  process.idle_since = broker_.now;
}

void SharedSimulation::act_as_worker(Process& process) {
  process.next_ms = broker_.now + 1;
  if (process.run && !process.over) return step(process);
  if (process.run) return end_run(process);
  process.run = process.queue->take(0);
  if (process.run) process.idle_since = broker_.now;
  if (!process.run) {
    process.next_ms = broker_.now + 50;
    return;
  }
  process.part = process.run->shared.part;
  process.step = 0;
  // A run that cannot be cut, as the worker finds out.
  const bool all = process.member.parts.contains(WorkPart::whole);
  if (!all && process.part == WorkPart::encode && chance(0.05)) {
    process.queue->needs_whole(process.run->lease);
    process.run.reset();
  }
}

void SharedSimulation::act(Process& process) {
  try {
    beat(process);
    if (broker_.now - process.ticked_ms >= tick_ms) {
      process.queue->tick();
      process.ticked_ms = broker_.now;
    }
    if (process.member.works)
      act_as_worker(process);
    else
      act_as_server(process);
  } catch (const BrokerLost&) {
    process.next_ms = broker_.now + 50;
  }
}

void SharedSimulation::disturb() {
  Process& process = processes_[static_cast<size_t>(between(0, 5))];
  if (chance(0.0004)) crash(process);
  if (chance(0.0002)) {  // a machine that stood still
    ++counts_.silences;
    trouble(process.member.id);
    process.next_ms = broker_.now + between(lease_ms, 3 * lease_ms);
    process.idle_since = process.next_ms;
  }
  if (chance(0.00005)) {
    ++counts_.broker_restarts;
    broken_until_ = broker_.now + between(100, 10'000);
    broker_.started = broken_until_;
  }
  const std::string stream = MemoryBroker::stream_of(static_cast<WorkPart>(between(0, 3)), "a");
  if (chance(0.0002)) broker_.add_entry(stream, chance(0.5) ? "" : "nothing");
  if (chance(0.0001)) {
    trouble("");
    if (chance(0.5))
      broker_.lose_entry(stream);
    else
      broker_.deliver_again(stream);
  }
}

// Whether someone will go on with each job, and if not, for how long that has been so: a running
// one has a worker, and a queued one no worker that takes it and does nothing.
void SharedSimulation::check_owners() {
  const int64_t now = broker_.now;
  for (const std::string& id : broker_.line()) {
    const SharedJob& shared = broker_.jobs().at(id);
    const bool running = shared.job.state == JobState::running;
    bool owned = false;
    int64_t idle_since = now;
    for (const Process& each : processes_) {
      if (!each.member.works || each.next_ms > now + 1000) continue;
      owned = owned || (each.run && each.run->lease.job == id &&
                        each.run->lease.attempt == shared.job.attempts);
      if (!each.run && takes(each.member, shared))
        idle_since = std::min(idle_since, each.idle_since);
    }
    Life& life = lives_.at(id);
    if (owned || now < broken_until_) life.ownerless_since = now;
    int64_t since = std::max(life.ownerless_since, broker_.started);
    if (!running) since = std::max(since, idle_since);
    counts_.longest_without_owner_ms = std::max(counts_.longest_without_owner_ms, now - since);
    require(now - since <= most_without_owner_ms,
            fmt::format("nobody has job {}, {} since {} ms, part {} of {}, entry '{}', worker {}",
                        id, name_of(shared.job.state), now - since, name_of(shared.part),
                        shared.job.model, shared.entry, shared.worker));
  }
}

void SharedSimulation::run(int64_t lives) {
  wanted_ = lives;
  while (counts_.accepted < wanted_ || !broker_.line().empty()) {
    faulty_ = counts_.accepted < wanted_;
    auto next =
        std::min_element(processes_.begin(), processes_.end(),
                         [](const Process& a, const Process& b) { return a.next_ms < b.next_ms; });
    broker_.now = std::max(broker_.now, next->next_ms);
    if (faulty_) disturb();
    act(*next);
    if (broker_.now - checked_ms_ < 100) continue;
    checked_ms_ = broker_.now;
    check_owners();
    // What is forgotten has ended.
    std::erase_if(lives_, [&](const auto& each) {
      if (broker_.jobs().contains(each.first)) return false;
      require(each.second.ended, "an accepted job is lost: " + each.first);
      return true;
    });
  }
  for (Process& process : processes_) start(process);  // for what they counted
}

}  // namespace omnirt::serve
