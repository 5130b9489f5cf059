#include "tensor/memory.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>

#include <atomic>
#include <mutex>

namespace omnirt {
namespace {

// c10 knows one CPU allocator a process, so the counters are the process's too.
struct Counters {
  std::atomic<size_t> current{0};
  std::atomic<size_t> peak{0};

  void add(size_t bytes) {
    size_t now = current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    size_t seen = peak.load(std::memory_order_relaxed);
    while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void remove(size_t bytes) { current.fetch_sub(bytes, std::memory_order_relaxed); }
};

Counters& counters() {
  static Counters all;
  return all;
}

void free_counted(void* data) {
  if (!data) return;
  counters().remove(malloc_usable_size(data));
  c10::free_cpu(data);
}

// Blocks as c10's own allocator makes them, their sizes asked of the C library, so that a block
// needs no header.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* data = c10::alloc_cpu(bytes);
    if (data) counters().add(malloc_usable_size(data));
    return {data, data, &free_counted, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

void watch_tensor_memory() {
  static std::once_flag once;
  std::call_once(once, [] {
    static CountingAllocator allocator;
    c10::SetAllocator(c10::DeviceType::CPU, &allocator, /*priority=*/100);
  });
}

TensorMemory tensor_memory() {
  return {counters().current.load(), counters().peak.load()};
}

void return_freed_memory() {
  malloc_trim(0);
}

void reset_tensor_peak() {
  counters().peak.store(counters().current.load());
}

}  // namespace omnirt
