#include "pipeline/loaded_pipeline.hpp"

#include <algorithm>

#include "weights/loader.hpp"

namespace omnirt {

// Overlaid weights are a request's; those of more requests than this are made again.
constexpr size_t most_overlaid = 2;

std::shared_ptr<const Binding> LoadedComponent::base(const ComputeForm& form) {
  for (const auto& binding : bindings_) {
    if (binding->form() == form) return binding;
  }
  return bindings_.emplace_back(bound(form));
}

std::shared_ptr<const Binding> LoadedComponent::bound(const ComputeForm& form) const {
  auto place = [&backend = wrapped->backend()](const Tensor& stored, at::ScalarType dtype) {
    return backend.to_device(stored, dtype);
  };
  return bind_weights(*store, *network, form, place);
}

std::shared_ptr<const Binding> LoadedComponent::own(
    const ComputeForm& form, const std::shared_ptr<const Overlay>& overlay) const {
  auto binding = bound(form);
  return overlay ? std::make_shared<const Binding>(std::move(binding), overlay) : binding;
}

std::shared_ptr<const Binding> LoadedComponent::lease(
    const ComputeForm& form, const std::shared_ptr<const Overlay>& overlay) {
  std::scoped_lock lock(mutex_);
  if (!overlay) return base(form);
  auto known = std::ranges::find_if(overlaid_, [&](const auto& binding) {
    return binding->form() == form && binding->overlay()->key == overlay->key;
  });
  if (known != overlaid_.end()) {
    overlaid_.splice(overlaid_.begin(), overlaid_, known);
    return overlaid_.front();
  }
  overlaid_.push_front(std::make_shared<const Binding>(base(form), overlay));
  if (overlaid_.size() > most_overlaid) overlaid_.pop_back();
  return overlaid_.front();
}

void LoadedComponent::release() {
  if (wrapped) wrapped->forget();
  std::scoped_lock lock(mutex_);
  for (const auto& binding : bindings_) binding->release_pages();
  bindings_.clear();
  overlaid_.clear();
}

size_t LoadedComponent::converted_bytes() const {
  std::scoped_lock lock(mutex_);
  size_t bytes = 0;
  for (const auto& binding : bindings_) bytes += binding->converted_bytes();
  for (const auto& binding : overlaid_) bytes += binding->converted_bytes();
  return bytes;
}

size_t LoadedComponent::packed_bytes() const {
  std::scoped_lock lock(mutex_);
  size_t bytes = 0;
  for (const auto& binding : bindings_) bytes += binding->packed_bytes();
  for (const auto& binding : overlaid_) bytes += binding->packed_bytes();
  return bytes;
}

void LoadedPipeline::add(const std::string& name, std::shared_ptr<LoadedComponent> component) {
  auto [it, fresh] = components_.emplace(name, std::move(component));
  ensure(fresh, "component '{}' was loaded twice", name);
}

LoadedComponent* LoadedPipeline::find(const std::string& name) const {
  auto it = components_.find(name);
  return it == components_.end() ? nullptr : it->second.get();
}

}  // namespace omnirt
