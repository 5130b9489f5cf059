#include "backends/cpu/simd/thread_team.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cpu/simd/team_memory.hpp"
#include "base/cancel_scope.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

using team::Deeper, team::Lane, team::place;

// A network's ops follow each other within some tens of microseconds, and waking a thread that
// sleeps takes as long as a small op: so threads wait awake for a while, the later part of it
// yielding to whatever else wants the core.
constexpr std::chrono::microseconds spin_time{40}, patience{1000};

void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True as soon as `ready` is; false when it was not for as long as `patience`.
template <class Ready>
bool spin_until(const Ready& ready) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      pause_cpu();
    }
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > patience) return false;
    if (waited > spin_time) sched_yield();
  }
}

int default_team_size() {
  if (const char* wanted = std::getenv("OMP_NUM_THREADS")) {
    const long size = std::strtol(wanted, nullptr, 10);
    if (size > 0) return static_cast<int>(std::min(size, 1024L));
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class Team {
 public:
  static Team& get() {
    // Never destroyed: workers that sleep when the process ends are simply gone with it.
    static Team* team = new Team;
    return *team;
  }

  int size() const { return size_.load(std::memory_order_relaxed); }

  void resize(int size) {
    ensure(place.depth == 0, "set_team_size({}) inside a parallel_for", size);
    Holding holding(*this);
    stop_workers();
    size_ = std::max(1, size);
    lanes_.resize(std::max(lanes_.size(), static_cast<size_t>(size_)));
  }

  void run(int64_t items, detail::TeamFunction function, void* body) {
    if (items <= 0) return;
    if (place.depth > 0) return run_serially(items, function, body);
    Holding holding(*this);
    if (items == 1 || size() == 1) return run_serially(items, function, body);
    start_workers();
    run_shared(items, function, body);
  }

  float* own(int thread, size_t floats) {
    return Lane::at(lanes_[static_cast<size_t>(thread)].own, place.depth).get(floats, bytes_);
  }
  float* shared(size_t floats) {
    Lane& lane = lanes_[static_cast<size_t>(place.thread)];
    return Lane::at(lane.shared, place.depth).get(floats, bytes_);
  }
  size_t bytes() const { return bytes_; }

  void release() {
    ensure(place.depth == 0 && place.holds == 0, "release_scratch while scratch memory is in use");
    Holding holding(*this);
    for (Lane& lane : lanes_) {
      for (team::Buffer& buffer : lane.own) buffer.release(bytes_);
      for (team::Buffer& buffer : lane.shared) buffer.release(bytes_);
    }
  }

  void hold() {
    if (place.depth == 0 && place.holds == 0) queue_.lock();
    ++place.holds;
  }
  void let_go() {
    if (--place.holds == 0 && place.depth == 0) queue_.unlock();
  }

 private:
  struct Holding {
    explicit Holding(Team& team) : team(team) { team.hold(); }
    ~Holding() { team.let_go(); }
    Team& team;
  };
  static constexpr uint32_t open_bit = 1u << 31;

  Team() : size_(default_team_size()) { lanes_.resize(static_cast<size_t>(size())); }

  static void run_serially(int64_t items, detail::TeamFunction function, void* body) {
    Deeper deeper(place.thread);
    for (int64_t item = 0; item < items; ++item) {
      check_cancelled();
      function(body, item, place.thread);
    }
  }

  void run_shared(int64_t items, detail::TeamFunction function, void* body) {
    items_ = items, function_ = function, body_ = body, error_ = nullptr;
    cancel_ = current_cancel();
    failed_ = false;
    next_.store(0, std::memory_order_relaxed);
    members_.store(open_bit, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    take_items(0);
    members_.fetch_and(~open_bit, std::memory_order_acq_rel);
    const auto all_left = [this] { return members_.load(std::memory_order_acquire) == 0; };
    while (!spin_until(all_left)) {
      if (const uint32_t still = members_.load(std::memory_order_acquire)) members_.wait(still);
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void take_items(int thread) {
    Deeper deeper(thread);
    CancelScope works_for(cancel_);
    int64_t item;
    while ((item = next_.fetch_add(1, std::memory_order_relaxed)) < items_) {
      try {
        check_cancelled();
        function_(body_, item, thread);
      } catch (...) {
        if (!failed_.exchange(true)) error_ = std::current_exception();
        next_.store(items_, std::memory_order_relaxed);
      }
    }
  }

  // A worker takes part only while the work is open, so no one ever waits for one to wake up.
  bool join() {
    uint32_t members = members_.load(std::memory_order_acquire);
    while (members & open_bit) {
      if (members_.compare_exchange_weak(members, members + 1, std::memory_order_acq_rel))
        return true;
    }
    return false;
  }

  void work(int thread, uint32_t seen) {
    while (!stopping_) {
      if (join()) {
        take_items(thread);
        if (members_.fetch_sub(1, std::memory_order_acq_rel) == 1) members_.notify_one();
      }
      const auto called = [&] { return generation_.load(std::memory_order_acquire) != seen; };
      if (!spin_until(called)) generation_.wait(seen, std::memory_order_acquire);
      seen = generation_.load(std::memory_order_acquire);
    }
  }

  void start_workers() {
    for (int thread = static_cast<int>(workers_.size()) + 1; thread < size(); ++thread) {
      workers_.emplace_back([this, thread, seen = generation_.load()] { work(thread, seen); });
    }
  }
  void stop_workers() {
    stopping_ = true;
    generation_.fetch_add(1);
    generation_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stopping_ = false;
  }

  std::mutex queue_;  // held by the caller that the team works for
  std::atomic<int> size_;
  std::vector<std::thread> workers_;
  std::deque<Lane> lanes_;
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> stopping_{false};

  // The current work: written while `members_` is 0.
  int64_t items_ = 0;
  detail::TeamFunction function_ = nullptr;
  void* body_ = nullptr;
  const CancelToken* cancel_ = nullptr;  // the caller's
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<uint32_t> members_{0};     // workers that take part, and the open bit
  alignas(64) std::atomic<uint32_t> generation_{0};  // one more with each call
};

}  // namespace

int team_size() {
  return Team::get().size();
}
void set_team_size(int size) {
  Team::get().resize(size);
}
float* scratch(int thread, size_t floats) {
  return Team::get().own(thread, floats);
}
size_t scratch_bytes() {
  return Team::get().bytes();
}
void release_scratch() {
  Team::get().release();
}

TeamHold::TeamHold() {
  Team::get().hold();
}
TeamHold::~TeamHold() {
  Team::get().let_go();
}
float* TeamHold::scratch(size_t floats) {
  return Team::get().shared(floats);
}

void detail::team_run(int64_t items, TeamFunction function, void* body) {
  Team::get().run(items, function, body);
}

}  // namespace omnirt::cpu
