#include "python/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace omnirt::python {
namespace {

std::atomic<CancelToken*> running{nullptr};
std::atomic<bool> interrupted{false};
struct sigaction before {};

// Async-signal-safe: the handler that was there, then atomic stores. It may run on any thread: a
// run that ends by the store finds Python's own note of the signal.
void on_interrupt(int signal) {
  before.sa_handler(signal);
  interrupted = true;
  if (CancelToken* run = running.load()) run->cancel();
}

bool is_handler(const struct sigaction& action) {
  return !(action.sa_flags & SA_SIGINFO) && action.sa_handler != SIG_DFL &&
         action.sa_handler != SIG_IGN && action.sa_handler != on_interrupt;
}

}  // namespace

InterruptsRun::InterruptsRun(CancelToken& run) {
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0 || !is_handler(now)) return;
  before = now;
  interrupted = false;
  running = &run;
  now.sa_handler = on_interrupt;
  active_ = sigaction(SIGINT, &now, nullptr) == 0;
}

InterruptsRun::~InterruptsRun() {
  if (!active_) return;
  sigaction(SIGINT, &before, nullptr);
  running = nullptr;
}

bool InterruptsRun::came() const {
  return active_ && interrupted;
}

}  // namespace omnirt::python
