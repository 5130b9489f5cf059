#pragma once
#include "runtime/resolve.hpp"

namespace omnirt {

// The worked example of docs/adding-a-backend.md: a device whose memory is the processor's, with
// one kernel of its own.
class ExampleBackend final : public Backend {
 public:
  std::string name() const override { return "example"; }
  at::Device device() const override { return at::kCPU; }
  Availability is_available() const noexcept override;
  Capabilities capabilities() const override;
  void prepare(const RunFacts& run) override;
  LevelPlan compile(const std::string& component, const std::string& tag,
                    const PlanFacts& facts) override;
  void reset_memory_stats() override;
  MemoryStats memory_stats() const override;
  double available_memory_gb() const override;
};

BackendInfo example_backend_info();

}  // namespace omnirt
