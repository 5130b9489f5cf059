#include "base/shared_turn.hpp"

#include <algorithm>

namespace omnirt {

// Once all have come: sets of what joins.
void SharedTurn::gather() {
  if (!sets_.empty() || waiting_.empty() || waiting_.size() < runs_) return;
  for (SharedCall* call : waiting_) {
    auto set =
        std::ranges::find_if(sets_, [&](const Set& each) { return call->joins(each.calls); });
    if (set == sets_.end()) set = sets_.emplace(sets_.end());
    set->calls.push_back(call);
  }
  waiting_.clear();
  changed_.notify_all();
}

SharedTurn::Sets::iterator SharedTurn::set_of(const SharedCall& call) {
  return std::ranges::find_if(sets_, [&](const Set& each) {
    return std::ranges::find(each.calls, &call) != each.calls.end();
  });
}

void SharedTurn::meet(SharedCall& call) {
  std::unique_lock lock(mutex_);
  waiting_.push_back(&call);
  gather();
  // It computes where it is the first of the first set; where it is in none, another has done it.
  changed_.wait(lock, [&] {
    if (std::ranges::find(waiting_, &call) != waiting_.end()) return false;
    auto set = set_of(call);
    if (set == sets_.end()) return true;
    return set == sets_.begin() && !set->computes && set->calls.front() == &call;
  });
  auto set = set_of(call);
  if (set == sets_.end()) return;
  set->computes = true;
  lock.unlock();
  const bool together = call.compute(set->calls);
  lock.lock();
  if (!together) came_apart_ = true;
  sets_.erase(set);
  gather();
  changed_.notify_all();
}

void SharedTurn::leave() {
  std::scoped_lock lock(mutex_);
  --runs_;
  gather();
}

bool SharedTurn::came_apart() const {
  std::scoped_lock lock(mutex_);
  return came_apart_;
}

}  // namespace omnirt
