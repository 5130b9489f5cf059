#include "backends/cuda/cuda_backend.hpp"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include "backends/cuda/attention.hpp"
#include "backends/cuda/cuda_graph.hpp"
#include "backends/cuda/cuda_memory.hpp"

namespace omnirt {
namespace {

// One of ATen's CUDA devices. Levels: eager is the references on the device, kernel_override adds
// fused attention, compile plays these back as CUDA graphs.
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int index) : Backend(index) {}
  std::string name() const override { return "cuda"; }
  int device_count() const override { return c10::cuda::device_count(); }
  at::Device device() const override {
    return {at::kCUDA, static_cast<at::DeviceIndex>(id().index)};
  }
  Availability is_available() const noexcept override;
  Capabilities capabilities() const override;
  void prepare(const RunFacts& run) override;
  LevelPlan compile(const std::string& component, const std::string& tag,
                    const PlanFacts& facts) override;
  // Channels last: cuDNN's kernels for half types want it.
  ComputeForm compute_form(Level, const PlanFacts& facts) const override {
    return {.dtype = facts.dtype, .channels_last = true};
  }
  void reset_memory_stats() override;
  MemoryStats memory_stats() const override;
  double available_memory_gb() const override;
  // The thread's own stream, which all of its computation is in. To wait for the whole device would
  // fail, and break the capture, while another thread captures.
  void synchronize() override { c10::cuda::getCurrentCUDAStream(device().index()).synchronize(); }
  DeviceMemory* device_memory() override { return memory_.get(); }

 private:
  // The major compute capability; 8 (Ampere) brings bf16 and the flash kernel.
  int capability() const;

  std::unique_ptr<DeviceMemory> memory_ = cuda::make_memory(device());
};

constexpr const char* attention_name = "fused attention";

int CudaBackend::capability() const {
  int major = 0;
  C10_CUDA_CHECK(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device().index()));
  return major;
}

Availability CudaBackend::is_available() const noexcept {
  constexpr const char* way_out = "install the device's driver and make the device visible";
  try {
    if (c10::cuda::device_count() < 1) return {false, "no CUDA device is visible", way_out};
    return {true, fmt::format("a device of compute capability {}.x", capability()), ""};
  } catch (const std::exception& error) {
    return {false, reason_of(error), way_out};
  }
}

Capabilities CudaBackend::capabilities() const {
  std::vector<std::string> dtypes{"fp32", "fp16"};
  if (capability() >= 8) dtypes.emplace_back("bf16");
  return {.modes = {{.dtype = dtypes}},
          .compile_available = true,
          .supports_graph_mode = true,
          .plans_memory = PlannedSpace::device,
          .overrides = {attention_name}};
}

void CudaBackend::prepare(const RunFacts&) {
  at::globalContext().lazyInitDevice(at::kCUDA);
  // fp32 means fp32 (TF32 keeps 10 bits of it), and a repeated run has the same bits.
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setBenchmarkCuDNN(false);
  bool flash = capability() >= 8;
  register_override(every_tag, {attention_name, [flash](ops::OpTable& table) {
                                  cuda::add_fused_attention(table, flash);
                                }});
}

LevelPlan CudaBackend::compile(const std::string& component, const std::string& tag,
                               const PlanFacts& facts) {
  LevelPlan kernels = plan(Level::kernel_override, component, tag, facts);
  kernels.runner =
      std::make_shared<CaptureRunner>([device = device()] { return cuda::make_graph(device); });
  kernels.note = "CUDA graphs over " + kernels.note;
  return kernels;
}

namespace allocator = c10::cuda::CUDACachingAllocator;
constexpr auto all_pools = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

void CudaBackend::reset_memory_stats() {
  if (allocator::get()->initialized()) allocator::resetPeakStats(device().index());
}

// Validation and `omnirt backends` ask before anything was allocated, when the allocator knows of
// no device yet and would throw.
MemoryStats CudaBackend::memory_stats() const {
  if (!allocator::get()->initialized()) return {};
  const auto stats = allocator::getDeviceStats(device().index());
  const auto& all = stats.allocated_bytes[all_pools];
  return {.peak_bytes = static_cast<size_t>(all.peak),
          .allocated_bytes = static_cast<size_t>(all.current)};
}

// What the driver has free and what the caching allocator holds without using it.
double CudaBackend::available_memory_gb() const {
  auto [free, total] = allocator::get()->getMemoryInfo(device().index());
  auto bytes = static_cast<double>(free);
  if (allocator::get()->initialized()) {
    const auto stats = allocator::getDeviceStats(device().index());
    bytes += static_cast<double>(stats.reserved_bytes[all_pools].current -
                                 stats.allocated_bytes[all_pools].current);
  }
  return bytes / (1024.0 * 1024.0 * 1024.0);
}

}  // namespace

BackendInfo cuda_backend_info() {
  return {"cuda", [](int index) { return std::make_unique<CudaBackend>(index); }, {}};
}

}  // namespace omnirt
