#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/device_id.hpp"
#include "ops/op_table.hpp"
#include "runtime/capabilities.hpp"
#include "runtime/device_memory.hpp"
#include "runtime/run_facts.hpp"
#include "runtime/wrapped_component.hpp"

namespace omnirt {

struct Availability {
  bool available = false;
  std::string reason{};   // what is missing, or what was found
  std::string way_out{};  // what to do where it is not available
};

struct MemoryStats {
  size_t peak_bytes = 0;
  size_t allocated_bytes = 0;
  size_t scratch_bytes = 0;  // that kernels keep for themselves, outside tensors: the process's
  // Whether peak and allocated are those of the run that the calling thread makes (tensors charged
  // to its MemoryAccount); false: those of the device, whatever uses it.
  bool per_run = false;
};

// Kernels that stand in for the references at level kernel_override. `add` is called on a table
// that may hold other overrides' kernels, which are tried first.
struct KernelOverride {
  std::string name;
  std::function<void(ops::OpTable&)> add;
};

// A device and its kernels. A component is run at the first level of compile -> kernel_override ->
// eager that works; every attempt and its reason is recorded (WrappedComponent, ComponentRun). A
// new backend implements the virtual parts; docs/adding-a-backend.md is the guide, and
// tests/backends/contract_test.cpp what it must pass.
class Backend {
 public:
  // `index`: which of the backend's devices this is.
  explicit Backend(int index = 0) : index_(index) {}
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // How many devices the backend has on this machine, whichever of them this object is; at least 1
  // where it is available. Sets nothing up.
  virtual int device_count() const { return 1; }
  DeviceId id() const { return {name(), index_}; }
  virtual at::Device device() const = 0;
  // Never throws. Looks, but sets nothing up.
  virtual Availability is_available() const noexcept = 0;
  virtual Capabilities capabilities() const = 0;
  // Sets the device up for a run and registers overrides. Called for each run before its components
  // are wrapped, also while other runs compute: what it registers may depend on a component's tag,
  // which names the override, but on nothing else that differs between runs. Throws Unsupported to
  // refuse the run.
  virtual void prepare(const RunFacts&) {}
  // One component at level compile; `tag` is its class, whose overrides a backend may build on
  // (plan). Throws Unsupported with the reason where there is none. Called by several threads.
  virtual LevelPlan compile(const std::string& component, const std::string& tag,
                            const PlanFacts& facts) = 0;
  // The form in which the ops of kernel_override and eager want weights.
  virtual ComputeForm compute_form(Level, const PlanFacts& facts) const {
    return {.dtype = facts.dtype};
  }

  // A component of class `tag` as this backend runs it; nothing is tried yet. The backend must
  // outlive it.
  std::shared_ptr<WrappedComponent> wrap_module(const std::string& component,
                                                const std::string& tag, PlanFacts facts = {});
  // Adds kernels for components of class `tag` ("FluxTransformer2DModel"), or every_tag. A second
  // override of the same tag and name replaces the first.
  void register_override(const std::string& tag, KernelOverride override);
  static constexpr const char* every_tag = "";
  // Names of the overrides that serve components of class `tag`, its own before those of every tag.
  std::vector<std::string> overrides(const std::string& tag) const;
  // One component at `level`: compile(), or a table of its tag's overrides, or the references; few
  // backends have more to say. Throws Unsupported with the reason.
  virtual LevelPlan plan(Level level, const std::string& component, const std::string& tag,
                         const PlanFacts& facts);

  // Sets the peak to what is allocated now. Called when a run begins that shares the device with no
  // other.
  virtual void reset_memory_stats() = 0;
  virtual MemoryStats memory_stats() const = 0;
  // Free memory of the device, in GiB.
  virtual double available_memory_gb() const = 0;
  // What moves weights to the device and bounds its memory, where its use is planned
  // (PlannedSpace::device); null elsewhere.
  virtual DeviceMemory* device_memory() { return nullptr; }
  // Waits until the device has done what it was given; stages are timed between two of these.
  virtual void synchronize() {}
  // A tensor's values on the device in `dtype`; x itself where it is there already.
  virtual Tensor to_device(const Tensor& x, at::ScalarType dtype) const {
    return x.to(device(), dtype);
  }
  // The reverse. Waits for the device.
  virtual Tensor to_host(const Tensor& x) const { return x.to(at::kCPU); }

 private:
  LevelPlan overridden(const std::string& tag, const PlanFacts& facts);
  std::vector<KernelOverride> overrides_of(const std::string& tag) const;

  int index_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<KernelOverride>> overrides_;  // by tag
};

}  // namespace omnirt
