#include "tensor/memory.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

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

// Stands where the block's own deleter context stood, and remembers its size.
struct Counted {
  c10::DataPtr block;
  size_t bytes;
};

void delete_counted(void* context) {
  auto* counted = static_cast<Counted*>(context);
  counters().remove(counted->bytes);
  delete counted;
}

class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator* inner) : inner_(inner) {}
  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr block = inner_->allocate(bytes);
    void* data = block.get();
    counters().add(bytes);
    auto* counted = new Counted{std::move(block), bytes};
    return {data, counted, &delete_counted, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* inner_;
};

}  // namespace

void watch_tensor_memory() {
  static std::once_flag once;
  std::call_once(once, [] {
    static CountingAllocator allocator(c10::GetAllocator(c10::DeviceType::CPU));
    c10::SetAllocator(c10::DeviceType::CPU, &allocator, /*priority=*/100);
  });
}

TensorMemory tensor_memory() {
  return {counters().current.load(), counters().peak.load()};
}

void reset_tensor_peak() {
  counters().peak.store(counters().current.load());
}

}  // namespace omnirt
