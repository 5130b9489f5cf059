#include "backends/cuda/cuda_memory.hpp"

#include <ATen/ops/empty_strided.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace omnirt::cuda {
namespace {

class Event {
 public:
  explicit Event(cudaStream_t stream) {
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    C10_CUDA_CHECK(cudaEventRecord(event_, stream));
  }
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void hold_up(cudaStream_t stream) const {
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0));
  }
  void wait() const { C10_CUDA_CHECK(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

const Event& event_of(const WeightCopies::Mark& mark) {
  return *static_cast<const Event*>(mark.get());
}

class CudaCopies final : public WeightCopies {
 public:
  explicit CudaCopies(at::Device device)
      : device_(device), stream_(c10::cuda::getStreamFromPool(false, device.index())) {}

  std::shared_ptr<std::byte> staging(size_t bytes) override {
    const c10::cuda::CUDAGuard here(device_);
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocDefault) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // or the next call would report it
      throw OutOfMemory(
          fmt::format("cuda: no {} bytes of the host's memory could be locked for "
                      "copies of weights",
                      bytes));
    }
    return {static_cast<std::byte*>(memory),
            [](std::byte* locked) { static_cast<void>(cudaFreeHost(locked)); }};
  }

  // Of the computing stream's memory: what was computed there before may use it still.
  Tensor allocate(const Tensor& outline) override {
    const c10::cuda::CUDAGuard here(device_);
    return at::empty_strided(outline.sizes(), outline.strides(), outline.options().device(device_));
  }
  Mark computed() override {
    // An event belongs to the device that is current when it is created.
    const c10::cuda::CUDAGuard here(device_);
    return std::make_shared<const Event>(computing());
  }

  Mark copy(const Tensor& to, const std::byte* staged, const Mark& after) override {
    const c10::cuda::CUDAGuard here(device_);
    event_of(after).hold_up(stream_.stream());
    C10_CUDA_CHECK(cudaMemcpyAsync(to.mutable_data_ptr(), staged, to.nbytes(),
                                   cudaMemcpyHostToDevice, stream_.stream()));
    return std::make_shared<const Event>(stream_.stream());
  }
  void compute_after(const Mark& copied) override { event_of(copied).hold_up(computing()); }
  void wait(const Mark& copied) override { event_of(copied).wait(); }

 private:
  cudaStream_t computing() const {
    return c10::cuda::getCurrentCUDAStream(device_.index()).stream();
  }

  at::Device device_;
  c10::cuda::CUDAStream stream_;
};

class CudaMemory final : public DeviceMemory {
 public:
  explicit CudaMemory(at::Device device) : device_(device) {}

  std::unique_ptr<WeightCopies> copies() override { return std::make_unique<CudaCopies>(device_); }

  // Cached blocks that nothing uses would count against it.
  void limit(std::optional<uint64_t> bytes) override {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    const auto [free, total] = allocator::get()->getMemoryInfo(device_.index());
    const double share =
        bytes ? std::min(1.0, static_cast<double>(*bytes) / static_cast<double>(total)) : 1.0;
    if (bytes) allocator::emptyCache();
    allocator::setMemoryFraction(share, device_.index());
  }

  // cuBLAS' workspace, 32 MiB on the larger devices, and as much again for cuDNN's: an estimate,
  // which no device has been asked about.
  uint64_t library_bytes() const override { return uint64_t{64} << 20; }

 private:
  at::Device device_;
};

}  // namespace

std::unique_ptr<DeviceMemory> make_memory(at::Device device) {
  return std::make_unique<CudaMemory>(device);
}

}  // namespace omnirt::cuda
