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
  LevelPlan compile(const std::string& component, const std::string& tag,
                    const PlanFacts& facts) override;
  void reset_memory_stats() override;
  MemoryStats memory_stats() const override;
  double available_memory_gb() const override;
  // Channels last: oneDNN's convolutions and the reshapes between pictures and tokens need no
  // copies then.
  ComputeForm compute_form(Level, const PlanFacts& facts) const override {
    return {facts.dtype, true};
  }
};

}  // namespace omnirt
