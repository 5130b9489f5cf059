#pragma once
#include "backends/stub/stub_device.hpp"
#include "runtime/resolve.hpp"

namespace omnirt {

// A backend that computes by the ops' references at every level, on the CPU, and fails as its
// script says: the parity path, and the means to test what a device's failures bring about.
class StubBackend final : public Backend {
 public:
  // `device`: the memory of this device; null: as the script says.
  explicit StubBackend(StubScript script = {}, std::shared_ptr<StubDevice> device = nullptr,
                       int index = 0);
  std::string name() const override { return "cpu-stub"; }
  int device_count() const override;
  at::Device device() const override { return at::kCPU; }
  Availability is_available() const noexcept override;
  Capabilities capabilities() const override;
  void prepare(const RunFacts& run) override;
  LevelPlan compile(const std::string& component, const std::string& tag,
                    const PlanFacts& facts) override;
  LevelPlan plan(Level level, const std::string& component, const std::string& tag,
                 const PlanFacts& facts) override;
  // As the cpu backend's, so that references have the same bits.
  ComputeForm compute_form(Level, const PlanFacts& facts) const override {
    return {.dtype = facts.dtype, .channels_last = true};
  }
  void reset_memory_stats() override;
  MemoryStats memory_stats() const override;
  double available_memory_gb() const override;
  DeviceMemory* device_memory() override { return device_.get(); }
  Tensor to_device(const Tensor& x, at::ScalarType dtype) const override;

 private:
  StubScript script_;
  std::shared_ptr<StubDevice> device_;  // null: the process's memory
};

// Listed as cpu-stub, never chosen by `auto`; its script is the environment's OMNIRT_STUB. A script
// that cannot be read makes it unavailable, with the reason.
BackendInfo stub_backend_info();

}  // namespace omnirt
