#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include "tensor/arena.hpp"

namespace at {
class Tensor;
}

namespace omnirt {

struct TensorMemory {
  size_t current_bytes = 0;
  size_t peak_bytes = 0;
};

// Puts a counter in front of ATen's CPU allocator and lets large tensors come from one arena;
// further calls do nothing. Memory that was allocated before is not counted.
void watch_tensor_memory();
// Bytes of CPU tensors, counted since watch_tensor_memory: those of the account that the calling
// thread charges (MemoryAccount::Scope), of the whole process where it charges none.
TensorMemory tensor_memory();
// Sets that peak to what is allocated now; other accounts keep theirs.
void reset_tensor_peak();
// Returns memory that tensors have freed to the system, except for `keep` bytes, which are
// expensive to get again.
inline constexpr size_t kept_of_freed_memory = size_t{256} << 20;
void return_freed_memory(size_t keep = kept_of_freed_memory);

struct Ledger;

// Counts the CPU tensors of one run, so that runs which share the process each have a figure of
// their own. A tensor is charged to the account under which it was allocated until it is freed,
// wherever that happens, also after the account is gone.
class MemoryAccount {
 public:
  // Called with the bytes that are about to be charged; what it throws ends the allocation.
  using Gate = std::function<void(size_t bytes)>;
  // With a gate tensors are counted to BlockMap's grain, whatever the C library makes of them.
  explicit MemoryAccount(Gate gate = {});
  ~MemoryAccount();
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  TensorMemory memory() const;
  // Sets the peak to what is charged now.
  void reset_peak() const;
  // Whether a CPU tensor's memory is charged to this account.
  bool holds(const at::Tensor& x) const;

  // While it lives, what this thread allocates is charged to `account`, which must outlive it.
  class Scope {
   public:
    explicit Scope(const MemoryAccount& account);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Ledger* outer_;
  };

 private:
  Ledger* ledger_;
};

// While it lives, tensors without storage (device meta) that this thread makes get places in a
// block map, and release them as they are destroyed: what a dry forward would take, to the byte.
class MemoryPlan {
 public:
  MemoryPlan();
  ~MemoryPlan();
  MemoryPlan(const MemoryPlan&) = delete;
  MemoryPlan& operator=(const MemoryPlan&) = delete;
  const BlockMap& blocks() const { return *blocks_; }

  // What this thread makes while it lives is left out of the plan: weights, which are elsewhere.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    std::shared_ptr<BlockMap> held_;
  };

 private:
  std::shared_ptr<BlockMap> blocks_, outer_;
};

}  // namespace omnirt
