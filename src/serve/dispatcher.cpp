#include "serve/dispatcher.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "serve/dispatcher_run.hpp"

namespace omnirt::serve {
namespace {

// Between two looks at deadlines and at what is to be forgotten.
constexpr std::chrono::milliseconds tick_every{200};
// How often an end is told to a store that fails, and how long before the second time; each further
// pause is twice as long.
constexpr int store_attempts = 4;
constexpr std::chrono::milliseconds store_pause{100};

// By which the queue estimates when a job ends.
QueueLimits of_all_devices(const DispatcherLimits& limits) {
  QueueLimits queue = limits.queue;
  queue.at_once *= std::max<size_t>(limits.devices.size(), 1);
  return queue;
}

}  // namespace

Dispatcher::Dispatcher(JobStore& store, const QueueClock& clock, const DispatcherLimits& limits,
                       RunJob run)
    : queue_(store, clock, of_all_devices(limits)), limits_(limits), run_(std::move(run)) {
  limits_.in_flight = std::max(limits_.in_flight, limits_.queue.at_once);
  const ShareSteps share = limits.queue.at_once == 1 ? limits.share_steps : ShareSteps::off;
  for (const DeviceId& device : limits.devices)
    executors_.push_back(std::make_unique<Executor>(Executor{device, StepSharing(share)}));
  if (executors_.empty())
    executors_.push_back(std::make_unique<Executor>(Executor{std::nullopt, StepSharing(share)}));
  for (const auto& [id, job] : queue_.jobs())
    events_.add(id, job.attempts, "state", state_event(job), has_ended(job.state));
  queue_.on_change = [this](const Job& job) { changed(job); };
}

Dispatcher::~Dispatcher() {
  stop();
}

void Dispatcher::start() {
  std::scoped_lock lock(mutex_);
  begins_ = true;
  for (size_t i = 0; i < limits_.in_flight * executors_.size(); ++i)
    threads_.emplace_back([this] { work(); });
  threads_.emplace_back([this] { watch(); });
  dispatch();
}

void Dispatcher::changed(const Job& job) {
  events_.add(job.id, job.attempts, "state", state_event(job), has_ended(job.state));
  if (on_change) on_change(job);
}

// If the store does not take the lease, the job waits for the next look.
bool Dispatcher::begin(const std::string& id, Executor& executor) {
  try {
    runs_.push_back(std::make_unique<Run>(*this, executor, queue_.lease(id)));
    return true;
  } catch (const std::exception& error) {
    spdlog::error("job {} cannot begin: {}", id, error.what());
    return false;
  }
}

void Dispatcher::at(Run& run, const JobProgress& progress) {
  std::unique_lock lock(mutex_);
  const double now = now_ms();
  // What is done beside the turn is no computing.
  const double took = run.computes ? now - run.turn_ms : 0;
  const size_t runs = run.together ? run.together->runs : 1;
  if (!queue_.progress(run.lease, progress, took, runs)) run.token.cancel();
  run.turn_ms = now;
  // A run's first step begins with what it makes once.
  if (run.progress.step > 0 && progress.step == run.progress.step + 1) {
    if (run.together)
      ++run.together->measured;
    else if (const Job* job = queue_.find(run.lease.id))
      run.executor.sharing.learn(job->work, 1, took);
  }
  run.progress = progress;
  const Json json = {{"job", run.lease.id},
                     {"stage", progress.stage},
                     {"step", progress.step},
                     {"steps", progress.steps}};
  events_.add(run.lease.id, run.lease.attempt, "progress", json.dump());
  run.token.check();
  // Encoding and flushing files mostly waits for the disk: the next run computes meanwhile.
  if (run.writes_files()) return let_go(run);
  take_turn(run, lock);
}

// A thread takes one run after the other.
void Dispatcher::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Run* run = nullptr;
    changed_.wait(lock, [&] {
      for (const auto& each : runs_) {
        if (!each->taken) run = each.get();
      }
      return run || stopping_;
    });
    if (!run) return;
    run->taken = true;
    run_one(*run, lock);
  }
}

// Any end of a run leaves its job ended, or handed back.
void Dispatcher::run_one(Run& run, std::unique_lock<std::mutex>& lock) {
  const Job job = *queue_.find(run.lease.id);
  run.turn_ms = now_ms();
  lock.unlock();
  std::function<void()> how;
  auto failed = [&](std::string kind, std::string what) {
    return [this, &run, reason = JobReason{std::move(kind), std::move(what)}] {
      queue_.fail(run.lease, reason);
    };
  };
  try {
    run.token.check();
    JobOutcome outcome = run_(job, run);
    how = [this, &run, outcome = std::move(outcome)] {
      queue_.finish(run.lease, outcome.result, outcome.bytes);
    };
  } catch (const Error& error) {
    how = failed(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    how = failed("OutOfMemory", "the allocator has no more memory");
  } catch (const std::exception& error) {
    how = failed("RunFailed", error.what());
  } catch (...) {
    how = failed("RunFailed", "the run failed, and did not say why");
  }
  lock.lock();
  // Those who share its turn wait for nothing of it any more.
  if (run.together) hand_on(run);
  if (stopping_) how = [this, &run] { queue_.release(run.lease); };
  lock.unlock();
  end(run, how);
  lock.lock();
  hand_on(run);
  runs_.remove_if([&](const auto& each) { return each.get() == &run; });
  dispatch();
  changed_.notify_all();
}

void Dispatcher::end(Run& run, const std::function<void()>& how) {
  std::string why;
  std::chrono::milliseconds pause = store_pause;
  for (int attempt = 0; attempt < store_attempts; ++attempt, pause *= 2) {
    if (attempt > 0) std::this_thread::sleep_for(pause);
    std::scoped_lock lock(mutex_);
    try {
      return how();
    } catch (const std::exception& error) {
      why = error.what();
      spdlog::error("the end of job {} cannot be stored: {}", run.lease.id, why);
    }
  }
  std::scoped_lock lock(mutex_);
  queue_.abandon(run.lease, {"StoreFailed", why});
}

void Dispatcher::pass_on_cancels() {
  for (const auto& run : runs_) {
    const Job* job = queue_.find(run->lease.id);
    if (job && job->cancelling) run->token.cancel();
  }
  changed_.notify_all();
}

// Deadlines, what is to be forgotten, and what a store did not take before.
void Dispatcher::watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::vector<std::string> forgotten;
    try {
      forgotten = queue_.tick();
    } catch (const std::exception& error) {
      spdlog::error("the store of jobs: {}", error.what());
      // On a full disk nothing can be deleted from the store before there is room: the files go
      // first.
      if (const std::string id = queue_.due(); on_forgotten && !id.empty()) on_forgotten(id);
    }
    for (const std::string& id : forgotten) events_.forget(id);
    pass_on_cancels();
    dispatch();
    if (on_forgotten && !forgotten.empty()) {
      lock.unlock();
      for (const std::string& id : forgotten) on_forgotten(id);
      lock.lock();
    }
    changed_.wait_for(lock, tick_every, [this] { return stopping_; });
  }
}

// What waits, and has a connection waiting for it, which the next process does not.
void Dispatcher::cancel_unreachable() {
  std::vector<std::string> ids;
  for (const auto& [id, job] : queue_.jobs()) {
    if (job.state == JobState::queued && job.waited_for) ids.push_back(id);
  }
  try {
    for (const std::string& id : ids) queue_.cancel(id, server_ends());
  } catch (const std::exception& error) {
    spdlog::error("the store of jobs: {}", error.what());
  }
}

bool Dispatcher::drain(int64_t ms) {
  std::unique_lock lock(mutex_);
  accepts_ = false;
  cancel_unreachable();
  return changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return runs_.empty(); });
}

void Dispatcher::hand_back() {
  std::scoped_lock lock(mutex_);
  accepts_ = false;
  stopping_ = true;
  for (const auto& run : runs_) {
    const Job* job = queue_.find(run->lease.id);
    try {
      // No one fetches it from the next process.
      if (job && job->waited_for) queue_.cancel(job->id, server_ends());
      queue_.release(run->lease);
    } catch (const std::exception& error) {
      spdlog::error("job {} is not handed back: {}", run->lease.id, error.what());
    }
    run->token.cancel();
  }
  changed_.notify_all();
}

void Dispatcher::stop() {
  hand_back();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace omnirt::serve
