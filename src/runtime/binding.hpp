#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ops/packing.hpp"
#include "runtime/overlay.hpp"
#include "runtime/param.hpp"
#include "tensor/weight.hpp"

namespace omnirt {

// What turns a stored weight into the form that the ops compute with. Packed forms and adapter
// overlays are further forms of the same weight, keyed by it.
struct ComputeForm {
  at::ScalarType dtype = at::kFloat;
  bool channels_last = false;  // activations; and 4-d weights too, unless as_stored
  // Matrices and filters in the type, encoding and order of the file, for kernels that widen and
  // reorder them inside the product: no second copy of them is made.
  bool as_stored = false;
  ops::PackPolicy pack = ops::PackPolicy::never;
  std::optional<size_t> pack_limit_bytes = std::nullopt;  // for PackPolicy::automatic
  ops::Quantization quantization = ops::Quantization::none;
  bool operator==(const ComputeForm&) const = default;
};

// parameter -> weight in its compute form. A form is made when a parameter is first used and kept;
// a weight that is stored in the compute form already is used in place. An overlaid binding has
// weights of its own for the parameters that adapters change, and shares all others with the
// binding below it. Shared by threads.
class Binding {
 public:
  // Moves a weight's values to where they are computed with, in a dtype (Backend::to_device).
  using Place = std::function<Tensor(const Tensor& stored, at::ScalarType dtype)>;
  // Without a `place` weights stay on the CPU.
  Binding(std::vector<std::shared_ptr<const Weight>> weights, const ComputeForm& form,
          Place place = {});
  // `base` with `overlay` over it.
  Binding(std::shared_ptr<const Binding> base, std::shared_ptr<const Overlay> overlay);

  const Tensor& operator[](const Param& param) const;
  // The same for an op that takes the parameter's packing() too: without storage where kernels read
  // the weight as its file encodes it (ops::EncodedWeight).
  const Tensor& as_encoded(const Param& param) const;
  // Where kernels keep further forms of a parameter's weight.
  ops::PackSlot* packing(const Param& param) const;
  // The terms next to a parameter's weight, in the compute form; null where there are none.
  const std::vector<SideTerm>* beside(const Param& param) const;
  const std::shared_ptr<const Overlay>& overlay() const { return overlay_; }
  // Makes the weights that the overlay changes, so that no call has to.
  void apply_overlay() const;
  const ComputeForm& form() const { return form_; }
  // Bytes of the compute forms made so far that are not the file's own.
  size_t converted_bytes() const { return converted_bytes_.load(); }
  // Bytes of the packed forms that kernels keep.
  size_t packed_bytes() const { return budget_.used_bytes.load(); }
  // Releases the memory behind the stored weights (pages of mapped files), which stay readable.
  void release_pages() const;

  // For bindings that one run has for itself: forgets a parameter's forms and releases the memory
  // behind its stored weight; it is made again when it is next used. Tensors that were returned
  // stay valid.
  void drop(size_t index) const;
  // The stored weight of a parameter.
  const Weight& stored(size_t index) const;

  // For forms that another brings to a device (GroupMover). A parameter's form without storage: its
  // sizes, strides and type there.
  Tensor outline(size_t index) const;
  // Writes the stored numbers into `to`, on the host and like the outline, and releases the memory
  // behind them.
  void write_numbers(size_t index, const Tensor& to) const;
  // From now on this is the parameter's form, until it is dropped.
  void put(size_t index, Tensor form) const;
  // Whether adapters change the weight; its form may have another size then.
  bool overlaid(size_t index) const { return changed_.contains(index); }
  // The bytes that a weight's forms take in memory: those of the file where it is computed with as
  // stored there, else those of what is made of it.
  static uint64_t bytes_in_memory(const Weight& weight, const ComputeForm& form);

 private:
  struct Slot {
    Slot(std::shared_ptr<const Weight> stored, ops::PackBudget& budget)
        : weight(std::move(stored)), pack(budget, weight->release) {}
    std::shared_ptr<const Weight> weight;
    mutable ops::PackSlot pack;
    mutable std::mutex making;
    mutable std::atomic<bool> made{false};
    mutable Tensor tensor;
    Tensor shape_only;  // defined where the weight is read as it is encoded
    // Where it is kept in fp8 (Weight::kept_as): its bytes there, once they are made.
    mutable Weight narrow;
    mutable std::atomic<bool> narrowed{false};
  };
  struct Terms {
    mutable std::once_flag made;
    mutable std::vector<SideTerm> terms;
  };
  const Slot& slot(size_t index) const;
  void make(const Slot& slot, size_t index) const;
  const Tensor& made(const Slot& slot, size_t index) const;
  Tensor formed(const Tensor& stored, bool widened = false) const;
  Tensor stored_numbers(const Slot& slot, size_t index) const;
  void keep_encoded(Slot& slot, size_t index);
  void narrow(const Slot& slot, size_t index) const;
  void set_budget(size_t stored_bytes);

  ComputeForm form_;
  Place place_;
  mutable ops::PackBudget budget_;
  std::deque<Slot> slots_;
  std::shared_ptr<const Binding> base_;
  std::shared_ptr<const Overlay> overlay_;
  std::map<size_t, Slot> changed_;
  std::map<size_t, Terms> beside_;
  mutable std::atomic<size_t> converted_bytes_{0};
};

// Bytes of memory that a component's weights take in a form: those of the file where kernels read
// it as it is, else those of what is made of it. Packed forms come on top.
size_t held_bytes(const WeightStore& store, const ComputeForm& form);

}  // namespace omnirt
