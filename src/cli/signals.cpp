#include "cli/signals.hpp"

#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include "io/temporaries.hpp"

namespace omnirt::cli {
namespace {

// What the signal handler reaches.
sem_t serve_signal;
std::atomic<int> serve_signals{0};

extern "C" void on_serve_signal(int) {
  const int before = errno;
  ++serve_signals;
  sem_post(&serve_signal);
  errno = before;
}

void wait_for_signal() {
  while (sem_wait(&serve_signal) != 0 && errno == EINTR) {
  }
}

// The second signal ends the process at once; what runs is queued again before.
void watch_for_second(const std::function<void()>& hand_back, const std::atomic<bool>& over) {
  while (!over) {
    wait_for_signal();
    if (over || serve_signals < 2) continue;
    hand_back();
    io::quit_without_temporaries(130);
  }
}

}  // namespace

// Signals that whoever started the process had it ignore stay ignored.
void take_signals() {
  sem_init(&serve_signal, 0, 0);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) std::signal(signal, on_serve_signal);
  }
}

void serve_until_signal(const std::function<void()>& drain,
                        const std::function<void()>& hand_back) {
  wait_for_signal();
  std::atomic<bool> over{false};
  std::thread watcher([&] { watch_for_second(hand_back, over); });
  drain();
  over = true;
  sem_post(&serve_signal);
  watcher.join();
}

}  // namespace omnirt::cli
