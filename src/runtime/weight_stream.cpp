#include "runtime/weight_stream.hpp"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace omnirt {

WeightStream::WeightStream(std::shared_ptr<const Binding> binding, Residency residency,
                           std::unique_ptr<WeightCopies> copies)
    : binding_(std::move(binding)), residency_(std::move(residency)) {
  mover_ = copies ? device_groups(binding_, residency_.groups, std::move(copies))
                  : mapped_groups(binding_, residency_.groups);
  for (size_t i = 0; i < residency_.groups.size(); ++i) {
    for (size_t param : residency_.groups[i].params) {
      if (param >= group_of_.size()) group_of_.resize(param + 1, none);
      group_of_[param] = i;
    }
  }
  if (residency_.groups.size() > 1 && residency_.prefetch > 0)
    bringer_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

WeightStream::~WeightStream() {
  if (bringer_.joinable()) {
    wait_for_all();
    bringer_.request_stop();
    bringer_.join();
  }
  for (size_t i = 0; i < residency_.groups.size(); ++i) mover_->leave(i);
  mover_.reset();
  binding_->release_pages();
}

void WeightStream::use(size_t param) {
  const size_t group = param < group_of_.size() ? group_of_[param] : none;
  if (group != none && group != at_) enter(group);
}

void WeightStream::enter(size_t group) {
  // The last one goes first, so that no more are there than the residency says.
  if (at_ != none) mover_->leave(std::exchange(at_, none));
  const double start = now_ms();
  drop_asked_before(group);
  if (asked_.empty()) {
    bring_now(group);
  } else {
    wait_for(group);
    asked_.pop_front();
  }
  mover_->enter(group);
  figures_.waited_ms += now_ms() - start;
  figures_.bytes += residency_.groups[group].read_bytes;
  figures_.groups += 1;
  at_ = group;
  ask_ahead();
}

void WeightStream::bring_now(size_t group) {
  mover_->begin(group);
  mover_->bring(group);
}

// All of them where it is not among them.
void WeightStream::drop_asked_before(size_t group) {
  while (!asked_.empty() && asked_.front() != group) {
    wait_for(asked_.front());
    mover_->leave(asked_.front());
    asked_.pop_front();
  }
}

// The groups that follow, as many as come in ahead.
void WeightStream::ask_ahead() {
  const size_t count = residency_.groups.size();
  while (bringer_.joinable() && asked_.size() < static_cast<size_t>(residency_.prefetch)) {
    const size_t next = ((asked_.empty() ? at_ : asked_.back()) + 1) % count;
    if (next == at_) return;
    mover_->begin(next);
    asked_.push_back(next);
    {
      std::scoped_lock lock(mutex_);
      to_bring_.push_back(next);
    }
    changed_.notify_all();
  }
}

// Until it was brought. Throws what ended that.
void WeightStream::wait_for(size_t group) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return failed_ || std::ranges::find(to_bring_, group) == to_bring_.end(); });
  if (failed_) std::rethrow_exception(failed_);
}

void WeightStream::wait_for_all() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || to_bring_.empty(); });
}

// After a failure nothing more is brought: the call that needs it ends, and the stream with it.
void WeightStream::work(const std::stop_token& stop) {
  const c10::InferenceMode no_autograd;
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !failed_ && !to_bring_.empty(); })) {
    const size_t group = to_bring_.front();
    lock.unlock();
    std::exception_ptr failed;
    try {
      mover_->bring(group);
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    failed_ = failed;
    to_bring_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace omnirt
