#include "runtime/binding.hpp"

#include "base/ensure.hpp"

namespace omnirt {

Binding::Binding(std::vector<std::shared_ptr<const Weight>> weights, ComputeForm form, Place place)
    : form_(form), place_(std::move(place)) {
  for (auto& weight : weights) slots_.emplace_back().weight = std::move(weight);
}

const Tensor& Binding::operator[](const Param& param) const {
  ensure(param.present && param.index < slots_.size(), "parameter '{}' is not bound", param.name);
  const Slot& slot = slots_[param.index];
  std::call_once(slot.made, [&] { make(slot); });
  return slot.tensor;
}

void Binding::make(const Slot& slot) const {
  Tensor stored = slot.weight->view();
  bool floating = at::isFloatingType(stored.scalar_type());
  at::ScalarType dtype = floating ? form_.dtype : stored.scalar_type();
  Tensor tensor = place_ ? place_(stored, dtype) : stored.to(dtype);
  if (form_.channels_last && tensor.dim() == 4)
    tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
  if (tensor.data_ptr() != stored.data_ptr()) {
    converted_bytes_ += tensor.nbytes();
    if (slot.weight->release) slot.weight->release();
  }
  slot.tensor = std::move(tensor);
}

}  // namespace omnirt
