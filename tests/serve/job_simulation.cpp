#include "serve/job_simulation.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace omnirt::serve {
namespace {

constexpr size_t most_running = 3;

QueueLimits limits() {
  return {.waiting = 16, .kept = 32, .keep_ms = 60'000, .promote_ms = 20'000, .fair_ms = 500};
}

}  // namespace

JobSimulation::JobSimulation(uint64_t seed) : seed_(seed), random_(seed) {
  store_.fault = [this] {
    if (!faulty_ || !chance(0.002)) return FailingStore::Fault::none;
    ++counts_.store_faults;
    return chance(0.5) ? FailingStore::Fault::before : FailingStore::Fault::after;
  };
  start();
}

bool JobSimulation::chance(double probability) {
  return static_cast<double>(random_() >> 11) < probability * 9007199254740992.0;
}

int64_t JobSimulation::between(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
}

void JobSimulation::require(bool condition, const std::string& what) const {
  if (!condition) throw std::logic_error(fmt::format("seed {}: {}", seed_, what));
}

// A server starts even if its store takes nothing.
void JobSimulation::start() {
  ++counts_.restarts;
  queue_ = std::make_unique<JobQueue>(store_, clock_, limits());
  for (auto& [id, life] : lives_) {
    const Job* job = queue_->find(id);
    require(job || life.ended, "an accepted job is lost: " + id);
    if (!job) continue;
    require(job->state != JobState::running, "a job runs after a restart: " + id);
    require(!life.ended || has_ended(job->state), "an ended job came back: " + id);
    require(job->crashes <= life.crashed, "a crash is counted twice: " + id);
    require(job->state != JobState::dead || job->crashes == 3, "a dead job without its crashes");
    if (!life.ended && has_ended(job->state)) ++counts_.ended[job->state];
    life.ended = has_ended(job->state);
  }
  // Accepted by a store that said that it failed.
  for (const auto& [id, job] : queue_->jobs()) lives_.try_emplace(id);
  queue_->on_change = [this](const Job& job) { changed(job); };
}

void JobSimulation::crash() {
  for (const Running& run : running_) ++lives_.at(run.lease.id).crashed;
  running_.clear();
  queue_.reset();
  clock_.now += between(0, 2000);
  start();
}

void JobSimulation::end_and_restart() {
  for (const Running& run : running_) {
    try {
      queue_->release(run.lease);
    } catch (const RunFailed&) {  // found running at the next start
    }
  }
  crash();
}

void JobSimulation::changed(const Job& job) {
  Life& life = lives_[job.id];
  require(!life.ended, "a job changed after its end: " + job.id);
  if (job.state == JobState::done) ++life.delivered;
  require(life.delivered <= 1, "a job was delivered twice: " + job.id);
  if (!has_ended(job.state)) return;
  life.ended = true;
  ++counts_.ended[job.state];
}

void JobSimulation::submit() {
  const int64_t client = between(0, 5) < 3 ? 0 : between(1, 4);
  Submission submission{.id = fmt::format("{:x}", random_()),
                        .client = fmt::format("client{}", client),
                        .work = fmt::format("work{}", client % 3),
                        .request = "{}",
                        .priority = static_cast<Priority>(between(0, 2)),
                        .steps = chance(0.5) ? 4 : between(1, 20),
                        .deadline_in_ms = chance(0.1) ? between(1, 4000) : 0,
                        .client_jobs = 12};
  try {
    const Job& job = queue_->submit(submission);
    Life& life = lives_[job.id];
    life.poison = chance(0.002);
    life.step_ms = 5 + client * 7;
    life.steps = submission.steps;
    ++counts_.accepted;
  } catch (const QueueRefusal& refusal) {
    ++counts_.refused;
    require(refusal.kind() == "DeadlineTooSoon" || refusal.retry_after_ms > 0, "no time to retry");
  } catch (const RunFailed&) {
    if (!queue_->find(submission.id)) crash();  // it may be stored: only a restart finds out
  }
}

// One step of the job that goes first.
void JobSimulation::turn() {
  std::vector<std::string> paused;
  for (const Running& run : running_) paused.push_back(run.lease.id);
  const std::string id = queue_->first(running_.size() < most_running, paused);
  if (id.empty()) {
    clock_.now += between(1, 50);
    return;
  }
  for (size_t at = 0; at < running_.size(); ++at) {
    if (running_[at].lease.id == id) return step(at);
  }
  Life& life = lives_.at(id);
  require(!life.ended, "an ended job begins: " + id);
  try {
    running_.push_back({queue_->lease(id), 0});
  } catch (const RunFailed&) {
    ++life.crashed;
    throw;
  }
  ++life.attempts;
}

void JobSimulation::step(size_t at) {
  Running& run = running_[at];
  const Life& life = lives_.at(run.lease.id);
  if (life.poison && run.step == life.steps / 2) return crash();
  clock_.now += life.step_ms;
  ++run.step;
  const bool goes_on = queue_->progress(run.lease, {"denoise_loop", run.step, life.steps},
                                        static_cast<double>(life.step_ms));
  if (!goes_on || run.step >= life.steps || chance(0.002)) end(at);
}

void JobSimulation::end(size_t at) {
  const Running run = running_[at];
  const bool whole = run.step >= lives_.at(run.lease.id).steps;
  for (int attempt = 0;; ++attempt) {
    try {
      const bool took = whole ? queue_->finish(run.lease, "{}", 10)
                              : queue_->fail(run.lease, {"RunFailed", "by the seed"});
      require(took, "a lease is void: " + run.lease.id);
      break;
    } catch (const RunFailed&) {
      if (attempt == 2) return crash();
    }
  }
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
}

void JobSimulation::check_forgotten(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    require(lives_.at(id).ended, "a job was forgotten before its end: " + id);
    lives_.erase(id);
  }
}

void JobSimulation::tick() {
  try {
    check_forgotten(queue_->tick());
  } catch (const RunFailed&) {
    crash();
  }
}

void JobSimulation::disturb() {
  if (chance(0.0005)) crash();
  if (chance(0.0005)) end_and_restart();
  if (chance(0.01) && !lives_.empty()) {
    auto it = lives_.lower_bound(fmt::format("{:x}", random_()));
    if (it == lives_.end()) return;
    try {
      queue_->cancel(it->first);
    } catch (const RunFailed&) {
      crash();
    }
  }
}

void JobSimulation::run(int64_t lives) {
  wanted_ = lives;
  int64_t turns = 0;
  while (counts_.accepted < wanted_ || queue_->waiting() + queue_->running() > 0) {
    // In the end the disk is well: a job ends whatever was before.
    faulty_ = counts_.accepted < wanted_;
    if (faulty_ && chance(0.12)) submit();
    disturb();
    try {
      turn();
    } catch (const RunFailed&) {
      crash();
    }
    if (++turns % 16 == 0) tick();
  }
  for (const auto& [id, life] : lives_) {
    const Job* job = queue_->find(id);
    require(!job || has_ended(job->state), "a job never ended: " + id);
  }
}

}  // namespace omnirt::serve
