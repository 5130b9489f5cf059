#pragma once
#include "base/cancel.hpp"

namespace omnirt::python {

// While it lives, SIGINT goes to Python's own handler, which only notes it until Python code runs
// again, and then cancels the run at once. For runs on Python's main thread; one at a time.
class InterruptsRun {
 public:
  explicit InterruptsRun(CancelToken& run);
  InterruptsRun(const InterruptsRun&) = delete;
  InterruptsRun& operator=(const InterruptsRun&) = delete;
  ~InterruptsRun();

  // Whether a SIGINT came since. Python's own note of it may be gone by then: kernels of torch that
  // are written in Python run between native ones, and an exception there ends as theirs.
  bool came() const;

 private:
  bool active_ = false;
};

}  // namespace omnirt::python
