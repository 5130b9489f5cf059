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

 private:
  bool active_ = false;
};

}  // namespace omnirt::python
