#include "runtime/binding.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "tensor/narrow_weight.hpp"

namespace omnirt {
namespace {

// The types that kernels widen inside a product.
bool readable_as_stored(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
}

bool is_fp8(io::Dtype dtype) {
  return dtype == io::Dtype::f8_e4m3 || dtype == io::Dtype::f8_e5m2;
}

// The type of the numbers that are computed with, before they are widened.
io::Dtype kept_type(const Weight& weight) {
  return weight.kept_as.value_or(weight.dtype);
}

// The same of a weight of which no tensor can be made without widening it.
bool readable_as_encoded(const Weight& weight) {
  return weight.shape.size() >= 2 && (weight.encoding || is_fp8(kept_type(weight)));
}

// Whether kernels take it as the file holds it. Vectors are small, and read whole by every kernel.
bool kept_as_stored(const ComputeForm& form, at::ScalarType stored, size_t sizes, bool encoded) {
  return form.as_stored && !encoded && sizes >= 2 && readable_as_stored(stored);
}

// What packed forms may take where nothing else is set: small models all that helps, large ones a
// sixteenth of their weights.
constexpr size_t least_pack_limit = size_t{56} << 20;
constexpr size_t most_packed_share = 16;

}  // namespace

size_t held_bytes(const WeightStore& store, const ComputeForm& form) {
  size_t bytes = 0;
  for (const auto& [name, weight] : store.all()) bytes += Binding::bytes_in_memory(*weight, form);
  return bytes;
}

Binding::Binding(std::vector<std::shared_ptr<const Weight>> weights, const ComputeForm& form,
                 Place place)
    : form_(form), place_(std::move(place)) {
  size_t stored = 0;
  for (auto& weight : weights) {
    stored += weight->bytes;
    slots_.emplace_back(std::move(weight), budget_);
    if (form_.as_stored && readable_as_encoded(*slots_.back().weight))
      keep_encoded(slots_.back(), slots_.size() - 1);
  }
  set_budget(stored);
}

Binding::Binding(std::shared_ptr<const Binding> base, std::shared_ptr<const Overlay> overlay)
    : form_(base->form_),
      place_(base->place_),
      base_(std::move(base)),
      overlay_(std::move(overlay)) {
  size_t stored = 0;
  for (const auto& [index, change] : overlay_->changed) {
    ensure(index < base_->slots_.size(), "an overlay changes parameter {}, of {}", index,
           base_->slots_.size());
    const auto& weight = base_->slots_[index].weight;
    stored += weight->bytes;
    Slot& own = changed_.try_emplace(index, weight, budget_).first->second;
    // What adapters change of a weight that is kept narrow is kept so, too.
    if (form_.as_stored && weight->kept_as && readable_as_encoded(*weight))
      keep_encoded(own, index);
  }
  for (const auto& [index, terms] : overlay_->beside) beside_.try_emplace(index);
  set_budget(stored);
}

void Binding::keep_encoded(Slot& slot, size_t index) {
  slot.shape_only =
      at::empty(slot.weight->shape, at::TensorOptions().dtype(form_.dtype).device(at::kMeta));
  const Weight* read = slot.weight.get();
  if (slot.weight->kept_as) {
    slot.narrow = Weight();
    slot.narrow.name = read->name;
    slot.narrow.dtype = *read->kept_as;
    slot.narrow.shape = read->shape;
    read = &slot.narrow;
  }
  slot.pack.set_encoded(
      {read, [this, &slot, index]() -> const Tensor& { return made(slot, index); }});
}

// Before a kernel reads them.
void Binding::narrow(const Slot& slot, size_t index) const {
  if (slot.narrowed.load(std::memory_order_acquire)) return;
  std::scoped_lock lock(slot.making);
  if (slot.narrowed.load(std::memory_order_relaxed)) return;
  Tensor bytes = stored_numbers(slot, index);
  slot.narrow.data = static_cast<const std::byte*>(bytes.const_data_ptr());
  slot.narrow.bytes = bytes.nbytes();
  slot.narrow.owner = std::make_shared<Tensor>(bytes);
  converted_bytes_ += bytes.nbytes();
  if (slot.weight->release) slot.weight->release();
  slot.narrowed.store(true, std::memory_order_release);
}

// With what adapters change, rounded to the type that they are kept in.
Tensor Binding::stored_numbers(const Slot& slot, size_t index) const {
  Tensor numbers = slot.weight->view();
  if (overlay_) numbers = overlay_->changed.at(index)(numbers);
  if (!slot.weight->kept_as) return numbers;
  return narrowed(numbers.contiguous(), *slot.weight->kept_as, slot.weight->name);
}

void Binding::set_budget(size_t stored_bytes) {
  budget_.policy = form_.pack;
  budget_.quantization = form_.quantization;
  budget_.limit_bytes =
      form_.pack_limit_bytes.value_or(std::max(least_pack_limit, stored_bytes / most_packed_share));
}

const Tensor& Binding::operator[](const Param& param) const {
  if (base_) {
    auto own = changed_.find(param.index);
    return own == changed_.end() ? (*base_)[param] : made(own->second, param.index);
  }
  ensure(param.present && param.index < slots_.size(), "parameter '{}' is not bound", param.name);
  return made(slots_[param.index], param.index);
}

const Tensor& Binding::as_encoded(const Param& param) const {
  auto own = changed_.find(param.index);
  if (base_ && own == changed_.end()) return base_->as_encoded(param);
  ensure(base_ || (param.present && param.index < slots_.size()), "parameter '{}' is not bound",
         param.name);
  const Slot& slot = base_ ? own->second : slots_[param.index];
  if (!slot.shape_only.defined()) return (*this)[param];
  if (slot.weight->kept_as) narrow(slot, param.index);
  return slot.shape_only;
}

ops::PackSlot* Binding::packing(const Param& param) const {
  if (!base_) return &slots_[param.index].pack;
  auto own = changed_.find(param.index);
  return own == changed_.end() ? base_->packing(param) : &own->second.pack;
}

const std::vector<SideTerm>* Binding::beside(const Param& param) const {
  auto found = beside_.find(param.index);
  if (found == beside_.end()) return nullptr;
  const Terms& kept = found->second;
  std::call_once(kept.made, [&] {
    for (const SideTerm& term : overlay_->beside.at(param.index)) {
      Tensor down = formed(term.down), up = formed(term.up);
      converted_bytes_ += down.nbytes() + up.nbytes();
      kept.terms.push_back({std::move(down), std::move(up), term.scale});
    }
  });
  return &kept.terms;
}

void Binding::apply_overlay() const {
  for (const auto& [index, slot] : changed_) made(slot, index);
}

const Tensor& Binding::made(const Slot& slot, size_t index) const {
  if (!slot.made.load(std::memory_order_acquire)) {
    std::scoped_lock lock(slot.making);
    if (!slot.made.load(std::memory_order_relaxed)) make(slot, index);
    slot.made.store(true, std::memory_order_release);
  }
  return slot.tensor;
}

const Binding::Slot& Binding::slot(size_t index) const {
  if (!base_) return slots_.at(index);
  auto own = changed_.find(index);
  return own == changed_.end() ? base_->slot(index) : own->second;
}

const Weight& Binding::stored(size_t index) const {
  return *slot(index).weight;
}

void Binding::drop(size_t index) const {
  auto own = changed_.find(index);
  if (base_ && own == changed_.end()) return base_->drop(index);
  const Slot& of = base_ ? own->second : slots_.at(index);
  of.pack.drop();
  if (of.narrowed.exchange(false)) {
    converted_bytes_ -= of.narrow.bytes;
    of.narrow.owner.reset();
    of.narrow.data = nullptr;
  }
  if (of.made.exchange(false)) {
    if (of.tensor.data_ptr() != of.weight->data) converted_bytes_ -= of.tensor.nbytes();
    of.tensor = Tensor();
  }
  if (of.weight->release) of.weight->release();
}

Tensor Binding::outline(size_t index) const {
  const Weight& weight = stored(index);
  const at::ScalarType own = weight.encoding ? at::kFloat : scalar_type(weight.dtype);
  const at::ScalarType dtype = at::isFloatingType(own) ? form_.dtype : own;
  const bool last = form_.channels_last && weight.shape.size() == 4;
  return at::empty(weight.shape, at::TensorOptions().dtype(dtype).device(at::kMeta),
                   last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

void Binding::write_numbers(size_t index, const Tensor& to) const {
  const Slot& of = slot(index);
  to.copy_(of.weight->view());
  if (of.weight->release) of.weight->release();
}

void Binding::put(size_t index, Tensor form) const {
  auto own = changed_.find(index);
  if (base_ && own == changed_.end()) return base_->put(index, std::move(form));
  const Slot& of = slot(index);
  std::scoped_lock lock(of.making);
  converted_bytes_ += form.nbytes();
  of.tensor = std::move(form);
  of.made.store(true, std::memory_order_release);
}

void Binding::make(const Slot& slot, size_t index) const {
  // Numbers that had to be made are made in the type that is computed with, whatever kernels read.
  bool widened = slot.weight->encoding != nullptr;
  Tensor tensor = formed(stored_numbers(slot, index), widened);
  if (widened || tensor.data_ptr() != slot.weight->data) {
    converted_bytes_ += tensor.nbytes();
    if (slot.weight->release) slot.weight->release();
  }
  slot.tensor = std::move(tensor);
}

Tensor Binding::formed(const Tensor& stored, bool widened) const {
  auto placed = [&](const Tensor& numbers, at::ScalarType dtype) {
    return place_ ? place_(numbers, dtype) : numbers.to(dtype);
  };
  if (!at::isFloatingType(stored.scalar_type())) return placed(stored, stored.scalar_type());
  if (kept_as_stored(form_, stored.scalar_type(), static_cast<size_t>(stored.dim()), widened))
    return stored;
  // Before it travels, so that the device holds it once.
  const bool reorder = form_.channels_last && !form_.as_stored && stored.dim() == 4;
  return placed(reorder ? stored.contiguous(at::MemoryFormat::ChannelsLast) : stored, form_.dtype);
}

uint64_t Binding::bytes_in_memory(const Weight& weight, const ComputeForm& form) {
  uint64_t numbers = 1;
  for (int64_t size : weight.shape) numbers *= static_cast<uint64_t>(size);
  const at::ScalarType stored = scalar_type(kept_type(weight));
  const bool encoded = weight.encoding != nullptr, matrix = weight.shape.size() >= 2;
  const bool multiplied_as_stored =
      encoded && weight.shape.size() == 2 && weight.encoding->int8_rows();
  // And a scale and a sum for each row.
  if (matrix && !multiplied_as_stored && form.quantization == ops::Quantization::int8)
    return numbers + 8 * static_cast<uint64_t>(weight.shape.front());
  const bool as_stored = kept_as_stored(form, stored, weight.shape.size(), encoded) ||
                         (form.as_stored && readable_as_encoded(weight));
  const bool floating = encoded || at::isFloatingType(stored);
  if (as_stored && weight.kept_as) return numbers * c10::elementSize(stored);
  return as_stored || !floating ? weight.bytes : numbers * c10::elementSize(form.dtype);
}

void Binding::release_pages() const {
  for (const Slot& slot : slots_) {
    if (slot.weight->release) slot.weight->release();
  }
}

}  // namespace omnirt
