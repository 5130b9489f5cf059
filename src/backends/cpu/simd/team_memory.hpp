#pragma once
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <new>

// What teams of threads have in common, whose ever the threads are (thread_team.cpp; torch's, in
// python/omnirt_ops): scratch memory, and where a thread stands. Internal.
namespace omnirt::cpu::team {

// A buffer that only grows. Rounded up, so that sizes that differ by little do not move it.
class Buffer {
 public:
  float* get(size_t floats, std::atomic<size_t>& total) {
    if (floats > floats_) {
      release(total);
      const size_t wanted = (floats + 16383) / 16384 * 16384;
      data_.reset(static_cast<float*>(::operator new(wanted * sizeof(float), alignment)));
      floats_ = wanted;
      total += wanted * sizeof(float);
    }
    return data_.get();
  }
  void release(std::atomic<size_t>& total) {
    total -= floats_ * sizeof(float);
    floats_ = 0;
    data_.reset();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(float* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<float, Free> data_;
  size_t floats_ = 0;
};

// The scratch memory of one thread: a buffer for each depth of nesting.
struct Lane {
  std::deque<Buffer> own, shared;
  static Buffer& at(std::deque<Buffer>& buffers, int depth) {
    while (buffers.size() <= static_cast<size_t>(depth)) buffers.emplace_back();
    return buffers[static_cast<size_t>(depth)];
  }
};

// The state of this thread: how many bodies it is inside, as which thread of the team, and how
// often it holds the team.
struct Place {
  int depth = 0;
  int thread = 0;
  int holds = 0;
};
inline thread_local Place place;

// One body deeper, until the end of the scope.
struct Deeper {
  explicit Deeper(int thread) : before(place) { place = {before.depth + 1, thread, 0}; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { place = before; }
  Place before;
};

}  // namespace omnirt::cpu::team
