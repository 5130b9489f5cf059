#pragma once
#include <memory>

#include "runtime/device_memory.hpp"

namespace omnirt::cuda {

// Memory of ATen's CUDA device: copies in a stream of their own, from page-locked memory, ordered
// with the computation by events; the limit is the caching allocator's.
std::unique_ptr<DeviceMemory> make_memory(at::Device device);

}  // namespace omnirt::cuda
