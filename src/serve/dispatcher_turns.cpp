// Who has the next turn, and with whom.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "serve/dispatcher_run.hpp"

namespace omnirt::serve {

Dispatcher::Run* Dispatcher::find_run(const std::string& id) const {
  auto it = std::ranges::find(runs_, id, [](const auto& run) { return run->lease.id; });
  return it == runs_.end() ? nullptr : it->get();
}

size_t Dispatcher::begun_on(const Executor& executor) const {
  return static_cast<size_t>(
      std::ranges::count_if(runs_, [&](const auto& run) { return &run->executor == &executor; }));
}

bool Dispatcher::may_begin(const Executor& executor) const {
  return begins_ && accepts_ && begun_on(executor) < limits_.in_flight;
}

// Those that `first` could share its next step with, itself first, so many as it pays for: runs
// that pause before a step, and others that are to be brought there.
std::vector<std::string> Dispatcher::company(const Executor& executor, const std::string& first,
                                             std::span<const std::string> paused) const {
  const Run* leads = find_run(first);
  if (!leads || !leads->before_step()) return {first};
  // One place stays free for a job that goes before them.
  const size_t begun = begun_on(executor);
  size_t room = limits_.in_flight > begun ? limits_.in_flight - begun - 1 : 0;
  std::vector<std::string> able;
  for (const std::string& id : queue_.alike(first, may_begin(executor), paused)) {
    const Run* run = find_run(id);
    if (run ? !run->before_loop() : room == 0) continue;
    if (!run) --room;
    able.push_back(id);
  }
  const size_t in_line = paused.size() + queue_.waiting();
  able.resize(executor.sharing.runs(queue_.find(first)->work, able.size(), in_line));
  return able.size() < 2 ? std::vector{first} : able;
}

// Who has the next turn on a device.
std::vector<std::string> Dispatcher::next(const Executor& executor) const {
  std::vector<std::string> paused;
  for (const auto& run : runs_) {
    if (run->paused && &run->executor == &executor) paused.push_back(run->lease.id);
  }
  const std::string first = queue_.first(may_begin(executor), paused);
  if (first.empty()) return {};
  std::vector<std::string> all = company(executor, first, paused);
  auto not_there = std::ranges::find_if(all, [&](const std::string& id) {
    const Run* run = find_run(id);
    return !run || !run->before_step();
  });
  return not_there == all.end() ? all : std::vector{*not_there};
}

// Gives free turns to those that go first. What an exception leaves undone the next look does: the
// threads that call this must go on.
void Dispatcher::dispatch() {
  try {
    give_turns();
  } catch (const std::exception& error) {
    spdlog::error("no turn is given: {}", error.what());
  }
}

// Each round checks again at which device a job would begin on.
void Dispatcher::give_turns() {
  while (!stopping_) {
    const std::vector<Executor*> all = idlest_first();
    if (std::ranges::none_of(all, [this](Executor* each) { return give_turn(*each); })) return;
  }
}

// Those with the fewest runs that have begun, which is where the next job begins.
std::vector<Dispatcher::Executor*> Dispatcher::idlest_first() {
  std::vector<Executor*> all;
  for (const auto& each : executors_) all.push_back(each.get());
  std::ranges::stable_sort(all, {}, [this](const Executor* each) { return begun_on(*each); });
  return all;
}

// Whether it had a free turn, and a run for it.
bool Dispatcher::give_turn(Executor& executor) {
  if (executor.computing >= limits_.queue.at_once) return false;
  const std::vector<std::string> ids = next(executor);
  if (ids.empty()) return false;
  std::shared_ptr<Together> together;
  if (ids.size() > 1)
    together = std::make_shared<Together>(executor, queue_.find(ids.front())->work, ids.size());
  for (const std::string& id : ids) {
    Run* run = find_run(id);
    if (!run && !begin(id, executor)) return false;
    if (!run) continue;
    run->paused = false;
    run->computes = true;
    run->together = together;
  }
  ++executor.computing;
  changed_.notify_all();
  return true;
}

// The turn of several ends with the last of them.
void Dispatcher::leave(Together& together) {
  together.turn.leave();
  if (++together.left < together.runs) return;
  Executor& executor = together.executor;
  --executor.computing;
  if (together.turn.came_apart())
    executor.sharing.refuse(together.work, together.runs);
  else if (together.measured == together.runs)
    executor.sharing.learn(together.work, together.runs, now_ms() - together.begun_ms);
}

void Dispatcher::hand_on(Run& run) {
  if (!run.computes) return;
  run.computes = false;
  if (auto together = std::exchange(run.together, nullptr))
    leave(*together);
  else
    --run.executor.computing;
}

void Dispatcher::let_go(Run& run) {
  hand_on(run);
  dispatch();
}

void Dispatcher::take_turn(Run& run, std::unique_lock<std::mutex>& lock) {
  hand_on(run);
  run.paused = true;
  dispatch();
  changed_.wait(lock, [&] { return run.computes || run.token.cancelled(); });
  run.paused = false;
  run.turn_ms = now_ms();
  run.token.check();
}

}  // namespace omnirt::serve
