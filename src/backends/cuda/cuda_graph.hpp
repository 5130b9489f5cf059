#pragma once
#include <memory>

#include "runtime/capture_runner.hpp"

namespace omnirt::cuda {

// A CUDA graph (ATen's), captured on a stream of its own.
std::unique_ptr<Graph> make_graph(at::Device device);

}  // namespace omnirt::cuda
