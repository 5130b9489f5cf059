#include "tensor/memory.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <new>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else  // a compiler without its sanitizers' headers
#define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(address)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(address)
#endif

namespace omnirt {

// A base of Ledger, which a header names.
struct MemoryCounters {
  std::atomic<size_t> current{0};
  std::atomic<size_t> peak{0};

  void add(size_t bytes) {
    size_t now = current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    size_t seen = peak.load(std::memory_order_relaxed);
    while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void remove(size_t bytes) { current.fetch_sub(bytes, std::memory_order_relaxed); }
  void reset_peak() { peak.store(current.load()); }
};

namespace {

// c10 knows one CPU allocator a process, so there are counters of the process, too.
MemoryCounters& of_process() {
  static MemoryCounters all;
  return all;
}

}  // namespace

// The counters of an account, which live as long as the account or one of its blocks.
struct Ledger : MemoryCounters {
  explicit Ledger(MemoryAccount::Gate asked) : gate(std::move(asked)) {}

  const MemoryAccount::Gate gate;
  std::atomic<size_t> holders{1};

  void hold() { holders.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

namespace {

thread_local Ledger* charged = nullptr;

MemoryCounters& counters() {
  return charged ? *charged : of_process();
}

// Smaller blocks are well served by the C library.
constexpr size_t smallest_in_arena = size_t{64} << 10;

// Never destroyed: tensors may outlive every static. Null where a sanitizer should see each block.
Arena* arena() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return nullptr;
#else
  static auto* all = new Arena(static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  return all;
#endif
}

// Precedes each block: who it is charged to, and how it is freed. As long as the alignment, so that
// blocks keep theirs.
struct alignas(BlockMap::alignment) Header {
  Ledger* ledger;
  size_t bytes;
  bool in_arena;
};
static_assert(sizeof(Header) == BlockMap::alignment);

Header* header_of(void* data) {
  return static_cast<Header*>(data) - 1;
}

void free_counted(void* data) {
  if (!data) return;
  Header* header = header_of(data);
  ASAN_UNPOISON_MEMORY_REGION(header, sizeof(Header));
  auto [ledger, bytes, in_arena] = *header;
  of_process().remove(bytes);
  if (ledger) {
    ledger->remove(bytes);
    ledger->release();
  }
  if (in_arena)
    arena()->free(header);
  else
    c10::free_cpu(header);
}

void* allocate_counted(size_t bytes) {
  constexpr auto most = static_cast<size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (bytes == 0) return nullptr;
  if (bytes > most - sizeof(Header)) throw std::bad_alloc();
  const bool gated = charged && charged->gate;
  if (gated) charged->gate(BlockMap::rounded(bytes));
  Arena* own = bytes >= smallest_in_arena ? arena() : nullptr;
  void* block = own ? own->allocate(bytes + sizeof(Header)) : nullptr;
  bool in_arena = block != nullptr;
  if (!block) block = c10::alloc_cpu(bytes + sizeof(Header));
  size_t counted =
      in_arena || gated ? BlockMap::rounded(bytes) : malloc_usable_size(block) - sizeof(Header);
  auto* header = new (block) Header{charged, counted, in_arena};
  of_process().add(counted);
  if (charged) {
    charged->hold();
    charged->add(counted);
  }
  ASAN_POISON_MEMORY_REGION(header, sizeof(Header));
  return header + 1;
}

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

// Allocates no memory; records it in the plan of the thread, if there is one.
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

void return_freed_memory(size_t keep) {
  if (Arena* own = arena()) own->trim(keep);
  malloc_trim(0);
}

void reset_tensor_peak() {
  counters().reset_peak();
}

MemoryAccount::MemoryAccount(Gate gate) : ledger_(new Ledger(std::move(gate))) {}

MemoryAccount::~MemoryAccount() {
  ledger_->release();
}

TensorMemory MemoryAccount::memory() const {
  return {ledger_->current.load(), ledger_->peak.load()};
}

void MemoryAccount::reset_peak() const {
  ledger_->reset_peak();
}

bool MemoryAccount::holds(const at::Tensor& x) const {
  if (!x.defined() || !x.has_storage()) return false;
  const c10::DataPtr& data = x.storage().data_ptr();
  if (!data.get() || data.get_deleter() != &free_counted) return false;
  Header* header = header_of(data.get_context());
  ASAN_UNPOISON_MEMORY_REGION(header, sizeof(Header));
  const Ledger* ledger = header->ledger;
  ASAN_POISON_MEMORY_REGION(header, sizeof(Header));
  return ledger == ledger_;
}

MemoryAccount::Scope::Scope(const MemoryAccount& account) : outer_(charged) {
  charged = account.ledger_;
}

MemoryAccount::Scope::~Scope() {
  charged = outer_;
}

}  // namespace omnirt
