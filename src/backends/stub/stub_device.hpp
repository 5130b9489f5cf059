#pragma once
#include <atomic>
#include <set>

#include "backends/stub/stub_script.hpp"
#include "runtime/device_memory.hpp"
#include "tensor/memory.hpp"

namespace omnirt {

// A device's memory as a script says it is, in the process's own: what a call's tensors and weights
// take is charged to one account, which has a size and fails when told to. Copies are made as late
// as the marks that wait for them allow, so that a missing wait shows in the image. What the
// references take in addition to an op's result is not on the device.
class StubDevice final : public DeviceMemory {
 public:
  explicit StubDevice(const StubScript::Device& script);

  std::unique_ptr<WeightCopies> copies() override;
  void limit(std::optional<uint64_t> bytes) override { limit_ = bytes.value_or(UINT64_MAX); }

  const MemoryAccount& account() const { return account_; }
  // x itself where it is there already.
  Tensor moved(const Tensor& x, at::ScalarType dtype) const;
  // What `compute` makes, none of it on the device.
  Tensor aside(const std::function<Tensor()>& compute) const;
  // The same with the result there, and what was taken meanwhile left out.
  Tensor result_of(const std::function<Tensor()>& compute) const;
  // What other processes hold of the device from now on.
  void neighbour_takes(uint64_t bytes) { neighbour_ = bytes; }
  uint64_t free_bytes() const;
  // Allocations so far.
  uint64_t allocations() const { return allocations_; }

 private:
  void admit(size_t bytes);

  StubScript::Device script_;
  std::set<int64_t> fail_at_;
  std::atomic<uint64_t> allocations_{0}, neighbour_{0}, limit_{UINT64_MAX};
  MemoryAccount account_;
  MemoryAccount scratch_;
};

}  // namespace omnirt
