#include "cli/interrupt.hpp"

#include <semaphore.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>
#include <thread>

#include "io/temporaries.hpp"

namespace omnirt::cli {
namespace {

constexpr std::array watched{SIGINT, SIGTERM, SIGHUP};
constexpr int exit_code = 130;
constexpr long grace_ns = 1'500'000'000;

// What the handler reaches: lock-free numbers, and a semaphore, which may be posted from there.
std::atomic<CancelToken*> stoppable{nullptr};
std::atomic<int> signals{0};
std::atomic<bool> over{false};
sem_t called;

void tell() {
  static constexpr std::string_view words = "stopping; again to quit now\n";
  // A failure to write cannot be reported anywhere.
  if (::write(STDERR_FILENO, words.data(), words.size()) < 0) return;
}

extern "C" void on_interrupt(int signal) {
  const int before = errno;
  const int count = signals.fetch_add(1) + 1;
  CancelToken* token = stoppable.load();
  if (count == 1 && token) {
    token->cancel();
    tell();
  }
  if (count > 1) std::signal(signal, SIG_DFL);
  sem_post(&called);
  errno = before;
}

void wait_for_call() {
  while (sem_wait(&called) != 0 && errno == EINTR) {
  }
}

// Until the next call, at most as long as the grace is.
void wait_out_grace() {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  constexpr long second = 1'000'000'000;
  until.tv_sec += (until.tv_nsec + grace_ns) / second;
  until.tv_nsec = (until.tv_nsec + grace_ns) % second;
  while (sem_timedwait(&called, &until) != 0 && errno == EINTR) {
  }
}

void watch() {
  wait_for_call();
  if (over) return;
  if (signals == 1 && stoppable.load()) wait_out_grace();
  if (over) return;
  io::quit_without_temporaries(exit_code);
}

}  // namespace

struct Interrupts::Watchdog {
  std::thread thread;
};

Interrupts::Interrupts() : watchdog_(std::make_unique<Watchdog>()) {
  sem_init(&called, 0, 0);
  // The thread takes no signals, so that they are served while it tidies up.
  sigset_t all, mine;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mine);
  watchdog_->thread = std::thread(watch);
  pthread_sigmask(SIG_SETMASK, &mine, nullptr);
  for (int signal : watched) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == SIG_DFL) std::signal(signal, on_interrupt);
  }
}

Interrupts::~Interrupts() {
  over = true;
  sem_post(&called);
  watchdog_->thread.join();
  for (int signal : watched) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == on_interrupt) std::signal(signal, SIG_DFL);
  }
}

Stoppable::Stoppable(CancelToken& token) {
  stoppable = &token;
}
Stoppable::~Stoppable() {
  stoppable = nullptr;
}

}  // namespace omnirt::cli
