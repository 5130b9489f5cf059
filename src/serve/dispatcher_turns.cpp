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

// Those that `first` could share its next step with, itself first, so many as it pays for: runs
// that pause before a step, and others that are to be brought there.
std::vector<std::string> Dispatcher::company(const std::string& first, bool may_begin,
                                             std::span<const std::string> paused) const {
  const Run* leads = find_run(first);
  if (!leads || !leads->before_step()) return {first};
  // One place stays free for a job that goes before them.
  size_t room = limits_.in_flight > runs_.size() ? limits_.in_flight - runs_.size() - 1 : 0;
  std::vector<std::string> able;
  for (const std::string& id : queue_.alike(first, may_begin, paused)) {
    const Run* run = find_run(id);
    if (run ? !run->before_loop() : room == 0) continue;
    if (!run) --room;
    able.push_back(id);
  }
  const size_t in_line = paused.size() + queue_.waiting();
  able.resize(sharing_.runs(queue_.find(first)->work, able.size(), in_line));
  return able.size() < 2 ? std::vector{first} : able;
}

// Who has the next turn.
std::vector<std::string> Dispatcher::next() const {
  std::vector<std::string> paused;
  for (const auto& run : runs_) {
    if (run->paused) paused.push_back(run->lease.id);
  }
  const bool may_begin = begins_ && accepts_ && runs_.size() < limits_.in_flight;
  const std::string first = queue_.first(may_begin, paused);
  if (first.empty()) return {};
  std::vector<std::string> all = company(first, may_begin, paused);
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

void Dispatcher::give_turns() {
  while (computing_ < limits_.queue.at_once && !stopping_) {
    const std::vector<std::string> ids = next();
    if (ids.empty()) return;
    std::shared_ptr<Together> together;
    if (ids.size() > 1)
      together = std::make_shared<Together>(queue_.find(ids.front())->work, ids.size());
    for (const std::string& id : ids) {
      Run* run = find_run(id);
      if (!run && !begin(id)) return;
      if (!run) continue;
      run->paused = false;
      run->computes = true;
      run->together = together;
    }
    ++computing_;
    changed_.notify_all();
  }
}

// The turn of several ends with the last of them.
void Dispatcher::leave(Together& together) {
  together.turn.leave();
  if (++together.left < together.runs) return;
  --computing_;
  if (together.turn.came_apart())
    sharing_.refuse(together.work, together.runs);
  else if (together.measured == together.runs)
    sharing_.learn(together.work, together.runs, now_ms() - together.begun_ms);
}

void Dispatcher::hand_on(Run& run) {
  if (!run.computes) return;
  run.computes = false;
  if (auto together = std::exchange(run.together, nullptr))
    leave(*together);
  else
    --computing_;
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
