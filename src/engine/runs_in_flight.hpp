#pragma once
#include <cstdint>
#include <mutex>

namespace omnirt {

// Whether a run had a device of the engine to itself, for figures of a device that cannot
// distinguish runs.
class RunsInFlight {
 public:
  class Turn {
   public:
    explicit Turn(RunsInFlight& runs) : runs_(runs) {
      std::scoped_lock lock(runs_.mutex_);
      begun_ = ++runs_.begun_;
      first_ = runs_.now_++ == 0;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      std::scoped_lock lock(runs_.mutex_);
      --runs_.now_;
    }
    // Whether no other run has been under way since this one began.
    bool alone() const {
      std::scoped_lock lock(runs_.mutex_);
      return first_ && runs_.begun_ == begun_;
    }

   private:
    RunsInFlight& runs_;
    uint64_t begun_;
    bool first_;
  };

 private:
  std::mutex mutex_;
  uint64_t begun_ = 0;
  uint64_t now_ = 0;
};

}  // namespace omnirt
