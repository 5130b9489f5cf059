#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace omnirt::cpu {

// The process has ONE team of threads, shared by all callers: calls from several user threads queue
// up. OpenMP starts a team for each calling thread, whose spinning makes a busy machine slower;
// these workers wait awake for a millisecond, most of it yielding to others, and then sleep,
// and a call never waits for a worker that has not woken up yet: the caller does the work
// itself.

// Threads that share the work, the caller included. Before the first set_team_size: OMP_NUM_THREADS
// if set, else the cores that this process may run on.
int team_size();

// At least 1. Waits for a call under way. Must not be called from inside a parallel_for.
void set_team_size(int size);

namespace detail {
using TeamFunction = void (*)(void* body, int64_t item, int thread);
void team_run(int64_t items, TeamFunction function, void* body);
}  // namespace detail

// Calls body(int64_t item, int thread) once for each item in [0, items), in any order, on the
// threads [0, team_size()). Items are assigned one by one: make them worth some tens of
// microseconds. Inside a body, a further parallel_for runs serially on the same thread. The first
// exception of a body ends the work and reaches the caller. Nothing is allocated.
template <class Body>
void parallel_for(int64_t items, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  detail::team_run(
      items,
      [](void* held, int64_t item, int thread) { (*static_cast<Plain*>(held))(item, thread); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Memory of the thread that runs a body, 64-byte aligned, not cleared; to be asked for inside a
// body, once: a second call may move it. It is kept for the next call, so a warm loop has no page
// faults. A nested parallel_for has memory of its own: it cannot overwrite that of the outer body.
float* scratch(int thread, size_t floats);

// Keeps the team for the calling thread over several parallel_for, which may then share memory.
class TeamHold {
 public:
  TeamHold();
  ~TeamHold();
  TeamHold(const TeamHold&) = delete;
  TeamHold& operator=(const TeamHold&) = delete;

  // Memory that all threads may use until this hold ends; 64-byte aligned, not cleared, kept for
  // the next hold. A second call may move it; a second hold inside this one would share it.
  float* scratch(size_t floats);
};

// Bytes kept by scratch memory of all threads; release_scratch frees them (waits for a call under
// way; not from inside a parallel_for or a hold).
size_t scratch_bytes();
void release_scratch();

}  // namespace omnirt::cpu
