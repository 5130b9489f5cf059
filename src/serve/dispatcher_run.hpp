#pragma once
#include "base/clock.hpp"
#include "serve/dispatcher.hpp"

namespace omnirt::serve {

// What computes on one device. Members belong to the dispatcher's lock.
struct Dispatcher::Executor {
  std::optional<DeviceId> device;  // none: as requests say
  StepSharing sharing;
  size_t computing = 0;  // turns that are given
};

// Runs that share a turn. Members belong to the dispatcher's lock.
struct Dispatcher::Together {
  Together(Executor& executor, std::string work, size_t runs)
      : executor(executor), turn(runs), work(std::move(work)), runs(runs) {}
  Executor& executor;
  SharedTurn turn;
  std::string work;
  size_t runs;
  size_t left = 0;
  size_t measured = 0;  // runs that made a step in it which was not their first
  double begun_ms = now_ms();
};

// A job that has begun, or is about to. Members but `token` belong to the dispatcher's lock.
struct Dispatcher::Run final : RunControl {
  Run(Dispatcher& owner, Executor& executor, Lease lease)
      : owner(owner), executor(executor), lease(std::move(lease)) {}
  void at(const JobProgress& progress) override { owner.at(*this, progress); }
  void preview(std::string data) override {
    std::scoped_lock lock(owner.mutex_);
    owner.events_.add(lease.id, lease.attempt, "preview", std::move(data));
  }
  const CancelToken& cancel() const override { return token; }
  const DeviceId* device() const override { return executor.device ? &*executor.device : nullptr; }
  SharedTurn* shared_turn() override { return together ? &together->turn : nullptr; }
  // Whether the next that it does is a step, and whether it can come to one yet.
  bool before_step() const {
    return progress.stage == "denoise_loop" &&
           (progress.steps == 0 || progress.step < progress.steps);
  }
  bool before_loop() const { return progress.stage.starts_with("prepare") || before_step(); }
  bool writes_files() const { return progress.stage == "export"; }

  Dispatcher& owner;
  Executor& executor;
  Lease lease;
  JobProgress progress;
  std::shared_ptr<Together> together;  // of its turn, where it shares one
  CancelToken token;
  bool taken = false;    // by a thread
  bool computes = true;  // has its turn
  bool paused = false;   // waits for its turn
  double turn_ms = 0;    // when the turn, or the step in it, began
};

}  // namespace omnirt::serve
