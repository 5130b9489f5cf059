#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tensor/tensor.hpp"

namespace omnirt {

// Copies of weights from the host to a device, made behind its computation. What it copies from is
// memory that the device reads by itself, and the order of copies and computation is kept on the
// device by marks, so that no thread waits for a copy that it does not need yet. A copying thread
// and a computing one may use it at the same time.
class WeightCopies {
 public:
  WeightCopies() = default;
  WeightCopies(const WeightCopies&) = delete;
  WeightCopies& operator=(const WeightCopies&) = delete;
  virtual ~WeightCopies() = default;

  // All that the device was given of one kind, copies or computation, up to a moment.
  using Mark = std::shared_ptr<const void>;

  // Memory of the host that the device reads by itself (pinned, page-locked).
  virtual std::shared_ptr<std::byte> staging(size_t bytes) = 0;
  // A tensor on the device like `outline` (Binding::outline), not filled; on the computing thread.
  // Throws what is_out_of_memory knows.
  virtual Tensor allocate(const Tensor& outline) = 0;
  // The computation that was given so far; on the computing thread.
  virtual Mark computed() = 0;
  // Begins to fill `to` with its bytes from `staged`, once the device has done `after`; returns at
  // once. `staged` must stay as it is until the copy is done.
  virtual Mark copy(const Tensor& to, const std::byte* staged, const Mark& after) = 0;
  // What is computed from now on waits on the device for that copy; on the computing thread.
  virtual void compute_after(const Mark& copied) = 0;
  // Waits for the copy.
  virtual void wait(const Mark& copied) = 0;
};

// Memory of a device, by a backend whose use of it is planned.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;

  // For one stream of weights.
  virtual std::unique_ptr<WeightCopies> copies() = 0;
  // The most that this process may take of the device from now on; an allocation beyond it is out
  // of memory. Nothing: all there is.
  virtual void limit(std::optional<uint64_t> bytes) = 0;
  // What libraries take of it in addition to tensors.
  virtual uint64_t library_bytes() const { return 0; }
};

}  // namespace omnirt
