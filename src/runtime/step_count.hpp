#pragma once
#include <cstddef>
#include <optional>

namespace omnirt {

// How many steps of a loop computed something, and how many took all of it from earlier ones. A
// step counts once, however many batches it has.
class StepCount {
 public:
  // Called for each batch of a step.
  void enter(size_t index) {
    if (index_ == index) return;
    index_ = index;
    computed_ = false;
    ++cached_;
  }
  void computed() {
    if (computed_) return;
    computed_ = true;
    --cached_;
    ++full_;
  }
  size_t full() const { return full_; }
  size_t cached() const { return cached_; }

 private:
  std::optional<size_t> index_;  // of the current step
  bool computed_ = false;
  size_t full_ = 0, cached_ = 0;
};

}  // namespace omnirt
