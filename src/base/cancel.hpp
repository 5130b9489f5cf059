#pragma once
#include <atomic>

#include "base/error.hpp"

namespace omnirt {

// Set by another thread or a signal handler; checked between the steps and blocks of a run.
class CancelToken {
 public:
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
  // Throws Cancelled once `cancel` was called.
  void check() const {
    if (cancelled()) throw Cancelled("the run was cancelled");
  }

 private:
  std::atomic<bool> cancelled_{false};
};

}  // namespace omnirt
