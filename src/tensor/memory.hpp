#pragma once
#include <cstddef>

namespace omnirt {

// Bytes of CPU tensors in this process, counted from the first call of watch_tensor_memory on.
struct TensorMemory {
  size_t current_bytes = 0;
  size_t peak_bytes = 0;
};

// Puts a counter in front of ATen's CPU allocator; further calls do nothing. Memory that was taken
// before is not counted.
void watch_tensor_memory();
TensorMemory tensor_memory();
void reset_tensor_peak();
// Hands memory that tensors have freed back to the system, where the C library still holds it.
void return_freed_memory();

}  // namespace omnirt
