#include "backends/cuda/cuda_graph.hpp"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

namespace omnirt::cuda {
namespace {

class CudaGraph final : public Graph {
 public:
  explicit CudaGraph(at::Device device) : device_(device) {}

  void capture(const std::function<void()>& work) override {
    c10::cuda::CUDAGuard on_device(device_);
    // What this thread gave to the device before must not fall into the capture. Not the whole
    // device: another thread may be capturing, and that would break its capture.
    c10::cuda::getCurrentCUDAStream(device_.index()).synchronize();
    c10::cuda::CUDAStreamGuard stream(c10::cuda::getStreamFromPool(false, device_.index()));
    // Other threads may continue to use the device.
    graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      end_broken_capture();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override {
    c10::cuda::CUDAGuard on_device(device_);
    graph_.replay();
  }

 private:
  // A capture that was broken into must be ended before its stream can be used again. That it ends
  // badly is known already: the first error is the one to report. Where CUDA itself refused the
  // work, capture_end throws before it has told the allocator, which would send what the stream
  // allocates to the pool from then on, and never give back what is cached.
  void end_broken_capture() noexcept {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    if (ended([this] { graph_.capture_end(); })) return;
    static_cast<void>(cudaGetLastError());  // or the next call would report it
    ended([this] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool_); });
    if (ended([this] { allocator::endAllocateToPool(device_.index(), pool_); }))
      ended([this] { allocator::releasePool(device_.index(), pool_); });
  }

  template <class Call>
  static bool ended(Call&& call) noexcept {
    try {
      call();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  at::Device device_;
  c10::MempoolId_t pool_ = at::cuda::graph_pool_handle();
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<Graph> make_graph(at::Device device) {
  return std::make_unique<CudaGraph>(device);
}

}  // namespace omnirt::cuda
