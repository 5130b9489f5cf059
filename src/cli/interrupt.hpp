#pragma once
#include <memory>

#include "base/cancel.hpp"

namespace omnirt::cli {

// Ctrl-C (SIGINT), SIGTERM and SIGHUP, for as long as it lives; one per process. Each ends the
// process with 130 and leaves nothing half-written:
// * the first asks a run that is Stoppable to stop, which it does between two pieces of its work;
//   what has not ended within two seconds is ended. Where nothing is Stoppable, at once.
// * the second ends it at once, and the third without even tidying up.
// Signals that the parent process had set to be ignored stay ignored.
class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

 private:
  struct Watchdog;
  std::unique_ptr<Watchdog> watchdog_;
};

// While it lives, `token` is checked by what runs.
class Stoppable {
 public:
  explicit Stoppable(CancelToken& token);
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable();
};

}  // namespace omnirt::cli
