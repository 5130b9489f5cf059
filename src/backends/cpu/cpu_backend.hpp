#pragma once
#include "runtime/backend.hpp"

namespace omnirt {

// The processor: always there. Computes by the ops' references; kernels of its own are registered
// as overrides.
class CpuBackend final : public Backend {
 public:
  CpuBackend();
  std::string name() const override { return "cpu"; }
  at::Device device() const override { return at::kCPU; }
  Availability is_available() const noexcept override;
  Capabilities capabilities() const override;
  std::shared_ptr<const ops::OpTable> compile(const std::string& component) override;
  void reset_memory_stats() override;
  MemoryStats memory_stats() const override;
  double available_memory_gb() const override;
  // Channels last: oneDNN's convolutions and the reshapes between pictures and tokens need no
  // copies then.
  ComputeForm compute_form(at::ScalarType dtype) const override { return {dtype, true}; }
};

}  // namespace omnirt
