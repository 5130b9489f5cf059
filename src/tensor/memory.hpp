#pragma once
#include <cstddef>
#include <memory>

#include "tensor/arena.hpp"

namespace omnirt {

// Bytes of CPU tensors in this process, counted from the first call of watch_tensor_memory on.
struct TensorMemory {
  size_t current_bytes = 0;
  size_t peak_bytes = 0;
};

// Puts a counter in front of ATen's CPU allocator and lets large tensors come from one arena;
// further calls do nothing. Memory that was taken before is not counted.
void watch_tensor_memory();
TensorMemory tensor_memory();
void reset_tensor_peak();
// Hands memory that tensors have freed back to the system, but for some hundred megabytes.
void return_freed_memory();

// While it lives, tensors without storage (device meta) that this thread makes are given places in
// a block map, and give them up as they go: what a dry forward would take, to the byte.
class MemoryPlan {
 public:
  MemoryPlan();
  ~MemoryPlan();
  MemoryPlan(const MemoryPlan&) = delete;
  MemoryPlan& operator=(const MemoryPlan&) = delete;
  const BlockMap& blocks() const { return *blocks_; }

  // What this thread makes while it lives is left out of the plan: weights, which lie elsewhere.
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
