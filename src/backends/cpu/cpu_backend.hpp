#pragma once
#include "runtime/backend.hpp"

namespace omnirt {

// The processor: always available. compile: kernels over the weights as the file stores them,
// packed forms, and a dry forward before each new shape. kernel_override: the same kernels, chosen
// at call. eager: the ops' references. Tensors are fp32; bf16 is a matter of products, at compile,
// or of the references.
class CpuBackend final : public Backend {
 public:
  CpuBackend();
  std::string name() const override { return "cpu"; }
  at::Device device() const override { return at::kCPU; }
  Availability is_available() const noexcept override;
  Capabilities capabilities() const override;
  void prepare(const RunFacts&) override;
  LevelPlan compile(const std::string& component, const std::string& tag,
                    const PlanFacts& facts) override;
  LevelPlan plan(Level level, const std::string& component, const std::string& tag,
                 const PlanFacts& facts) override;
  ComputeForm compute_form(Level level, const PlanFacts& facts) const override;
  void reset_memory_stats() override;
  MemoryStats memory_stats() const override;
  double available_memory_gb() const override;
};

}  // namespace omnirt
