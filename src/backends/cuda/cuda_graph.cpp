#include "backends/cuda/cuda_graph.hpp"

#include <ATen/cuda/CUDAGraph.h>

namespace omnirt::cuda {
namespace {

class CudaGraph final : public Graph {
 public:
  explicit CudaGraph(at::Device device) : device_(device) {}

  void capture(const std::function<void()>& work) override {
    c10::cuda::CUDAGuard on_device(device_);
    // What was given to the device before must not fall into the capture.
    c10::cuda::device_synchronize();
    c10::cuda::CUDAStreamGuard stream(c10::cuda::getStreamFromPool(false, device_.index()));
    // Other threads may continue to use the device.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
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
  // badly is known already: the first error is the one to report.
  void end_broken_capture() noexcept {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
      static_cast<void>(cudaGetLastError());  // or the next call would report it
    }
  }

  at::Device device_;
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<Graph> make_graph(at::Device device) {
  return std::make_unique<CudaGraph>(device);
}

}  // namespace omnirt::cuda
