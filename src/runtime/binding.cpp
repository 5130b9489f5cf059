#include "runtime/binding.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace omnirt {
namespace {

// The types that kernels widen inside a product.
bool readable_as_stored(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
}

// What packed forms may take where nobody says: small models all that helps, large ones a sixteenth
// of their weights.
constexpr size_t least_pack_limit = size_t{64} << 20;
constexpr size_t most_packed_share = 16;

}  // namespace

Binding::Binding(std::vector<std::shared_ptr<const Weight>> weights, const ComputeForm& form,
                 Place place)
    : form_(form), place_(std::move(place)) {
  budget_.policy = form.pack;
  budget_.quantization = form.quantization;
  size_t stored = 0;
  for (auto& weight : weights) {
    stored += weight->bytes;
    slots_.emplace_back(std::move(weight), budget_);
  }
  budget_.limit_bytes =
      form.pack_limit_bytes.value_or(std::max(least_pack_limit, stored / most_packed_share));
}

const Tensor& Binding::operator[](const Param& param) const {
  ensure(param.present && param.index < slots_.size(), "parameter '{}' is not bound", param.name);
  const Slot& slot = slots_[param.index];
  std::call_once(slot.made, [&] { make(slot); });
  return slot.tensor;
}

void Binding::make(const Slot& slot) const {
  Tensor stored = slot.weight->view();
  Tensor tensor = formed(stored);
  if (tensor.data_ptr() != stored.data_ptr()) {
    converted_bytes_ += tensor.nbytes();
    if (slot.weight->release) slot.weight->release();
  }
  slot.tensor = std::move(tensor);
}

Tensor Binding::formed(const Tensor& stored) const {
  auto placed = [&](at::ScalarType dtype) {
    return place_ ? place_(stored, dtype) : stored.to(dtype);
  };
  if (!at::isFloatingType(stored.scalar_type())) return placed(stored.scalar_type());
  // Vectors are small, and read whole by every kernel.
  bool matrix = stored.dim() >= 2;
  if (form_.as_stored && matrix && readable_as_stored(stored.scalar_type())) return stored;
  Tensor tensor = placed(form_.dtype);
  bool reorder = form_.channels_last && !form_.as_stored && tensor.dim() == 4;
  return reorder ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor;
}

void Binding::release_pages() const {
  for (const Slot& slot : slots_) {
    if (slot.weight->release) slot.weight->release();
  }
}

}  // namespace omnirt
