#include "tensor/memory.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <unistd.h>

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

// What the next stage of a run will take again at once.
constexpr size_t kept_for_later = size_t{256} << 20;

// Smaller blocks are well served by the C library.
constexpr size_t smallest_in_arena = size_t{64} << 10;

// Never destroyed: tensors may outlive every static. Null where the address checker should see each
// block.
Arena* arena() {
#if defined(__SANITIZE_ADDRESS__)
  return nullptr;
#else
  static auto* all = new Arena(static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  return all;
#endif
}

void free_counted(void* data) {
  if (!data) return;
  if (Arena* own = arena(); own && own->owns(data)) {
    counters().remove(own->free(data));
    return;
  }
  counters().remove(malloc_usable_size(data));
  c10::free_cpu(data);
}

void* allocate_counted(size_t bytes) {
  Arena* own = bytes >= smallest_in_arena ? arena() : nullptr;
  if (void* block = own ? own->allocate(bytes) : nullptr) {
    counters().add(BlockMap::rounded(bytes));
    return block;
  }
  void* data = c10::alloc_cpu(bytes);
  if (data) counters().add(malloc_usable_size(data));
  return data;
}

// Blocks of the C library have their sizes asked of it, so that a block needs no header.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* data = allocate_counted(bytes);
    return {data, data, &free_counted, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

thread_local std::shared_ptr<BlockMap> planned;

struct PlannedBlock {
  std::shared_ptr<BlockMap> blocks;
  size_t offset;
};

void free_planned(void* block) {
  std::unique_ptr<PlannedBlock> gone(static_cast<PlannedBlock*>(block));
  gone->blocks->free(gone->offset);
}

// Gives no memory; tells the plan of the thread, if there is one.
class PlanningAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    c10::Device meta(c10::DeviceType::Meta);
    if (!planned || bytes == 0) return {nullptr, meta};
    return {nullptr, new PlannedBlock{planned, planned->take(bytes)}, &free_planned, meta};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void*, const void*, size_t) const override {}
};

}  // namespace

MemoryPlan::MemoryPlan() : blocks_(std::make_shared<BlockMap>()), outer_(std::move(planned)) {
  static std::once_flag once;
  std::call_once(once, [] {
    static PlanningAllocator allocator;
    c10::SetAllocator(c10::DeviceType::Meta, &allocator, /*priority=*/100);
  });
  planned = blocks_;
}

MemoryPlan::~MemoryPlan() {
  planned = std::move(outer_);
}

MemoryPlan::Pause::Pause() : held_(std::move(planned)) {}

MemoryPlan::Pause::~Pause() {
  planned = std::move(held_);
}

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
  if (Arena* own = arena()) own->trim(kept_for_later);
  malloc_trim(0);
}

void reset_tensor_peak() {
  counters().peak.store(counters().current.load());
}

}  // namespace omnirt
