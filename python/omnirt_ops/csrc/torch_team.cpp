#include <torch/csrc/stable/c/shim.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "backends/cpu/simd/team_memory.hpp"
#include "backends/cpu/simd/thread_team.hpp"

// The kernels' team of threads (thread_team.hpp), here torch's own: its threads spin for some
// milliseconds after each op, so that a second team would share the cores with them, and
// torch.set_num_threads holds for both.
namespace omnirt::cpu {
namespace {

using team::Deeper, team::Lane, team::place;

// Held by the caller that the team works for. Never destroyed, as threads may outlive statics.
std::mutex& queue() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}
std::atomic<size_t>& bytes() {
  static std::atomic<size_t> kept{0};
  return kept;
}
// As many as the team ever had threads; grown by the caller that holds the team, before its
// threads start.
std::deque<Lane>& lanes() {
  static auto* all = new std::deque<Lane>(1);
  return *all;
}

void hold() {
  if (place.depth == 0 && place.holds == 0) queue().lock();
  ++place.holds;
}
void let_go() {
  if (--place.holds == 0 && place.depth == 0) queue().unlock();
}
struct Holding {
  Holding() { hold(); }
  ~Holding() { let_go(); }
};

struct Work {
  int64_t items;
  detail::TeamFunction function;
  void* body;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error{};

  void take(int thread) {
    const Deeper deeper(thread);
    int64_t item;
    while ((item = next.fetch_add(1, std::memory_order_relaxed)) < items) {
      try {
        function(body, item, thread);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        next.store(items, std::memory_order_relaxed);
      }
    }
  }
};

void run_serially(int64_t items, detail::TeamFunction function, void* body) {
  const Deeper deeper(place.thread);
  for (int64_t item = 0; item < items; ++item) function(body, item, place.thread);
}

// One index of torch's loop is one thread of the team, whichever thread of torch's runs it.
void run_shared(Work& work, int threads) {
  const auto run = [](int64_t first, int64_t last, void* held) {
    for (int64_t thread = first; thread < last; ++thread)
      static_cast<Work*>(held)->take(static_cast<int>(thread));
  };
  if (torch_parallel_for(0, threads, 1, run, &work) != AOTI_TORCH_SUCCESS)
    throw std::runtime_error("omnirt_ops: torch's threads could not be used");
  if (work.error) std::rethrow_exception(std::exchange(work.error, nullptr));
}

}  // namespace

int team_size() {
  uint32_t threads = 1;
  if (torch_get_num_threads(&threads) != AOTI_TORCH_SUCCESS || threads < 1) return 1;
  return static_cast<int>(threads);
}

float* scratch(int thread, size_t floats) {
  return Lane::at(lanes()[static_cast<size_t>(thread)].own, place.depth).get(floats, bytes());
}

TeamHold::TeamHold() {
  hold();
}
TeamHold::~TeamHold() {
  let_go();
}
float* TeamHold::scratch(size_t floats) {
  return Lane::at(lanes()[static_cast<size_t>(place.thread)].shared, place.depth)
      .get(floats, bytes());
}

void detail::team_run(int64_t items, TeamFunction function, void* body) {
  if (items <= 0) return;
  if (place.depth > 0) return run_serially(items, function, body);
  const Holding holding;
  const int threads = team_size();
  if (lanes().size() < static_cast<size_t>(threads)) lanes().resize(static_cast<size_t>(threads));
  if (items == 1 || threads == 1) return run_serially(items, function, body);
  Work work{items, function, body};
  run_shared(work, static_cast<int>(std::min<int64_t>(threads, items)));
}

}  // namespace omnirt::cpu
