#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/param.hpp"
#include "tensor/weight.hpp"

namespace omnirt {

// What turns a stored weight into the form that the ops compute with. Today: the compute dtype;
// packed forms and adapter overlays are further forms of the same weight, keyed by it.
struct ComputeForm {
  at::ScalarType dtype = at::kFloat;
  bool channels_last = false;  // 4-d weights in NHWC order, as the activations are
  bool operator==(const ComputeForm&) const = default;
};

// parameter -> weight in its compute form. A form is made when a parameter is first used and kept;
// a weight that is stored in the compute form already is used where it lies. Shared by threads.
class Binding {
 public:
  // Moves a weight's values to where they are computed with, in a dtype (Backend::to_device).
  using Place = std::function<Tensor(const Tensor& stored, at::ScalarType dtype)>;
  // Without a `place` weights stay on the CPU.
  Binding(std::vector<std::shared_ptr<const Weight>> weights, ComputeForm form, Place place = {});

  const Tensor& operator[](const Param& param) const;
  const ComputeForm& form() const { return form_; }
  // Bytes of the compute forms made so far that are not the file's own.
  size_t converted_bytes() const { return converted_bytes_.load(); }

 private:
  struct Slot {
    std::shared_ptr<const Weight> weight;
    mutable std::once_flag made;
    mutable Tensor tensor;
  };
  void make(const Slot& slot) const;

  std::deque<Slot> slots_;
  ComputeForm form_;
  Place place_;
  mutable std::atomic<size_t> converted_bytes_{0};
};

}  // namespace omnirt
