#pragma once
#include "runtime/resolve.hpp"

namespace omnirt {

// Ascend devices through torch's plug-in (torch_npu), which is loaded at run time and registers its
// device as ATen's PrivateUse1; everything here goes by ATen's interfaces for such devices. compile
// is the plug-in's graph mode; there are no kernels of this project, so what does not compile runs
// by the references.
class AscendBackend final : public Backend {
 public:
  explicit AscendBackend(int index = 0) : Backend(index) {}
  std::string name() const override { return "ascend"; }
  int device_count() const override;
  at::Device device() const override {
    return {at::kPrivateUse1, static_cast<at::DeviceIndex>(id().index)};
  }
  Availability is_available() const noexcept override;
  Capabilities capabilities() const override;
  LevelPlan compile(const std::string& component, const std::string& tag,
                    const PlanFacts& facts) override;
  void reset_memory_stats() override;
  MemoryStats memory_stats() const override;
  double available_memory_gb() const override;
  void synchronize() override;
};

BackendInfo ascend_backend_info();

}  // namespace omnirt
