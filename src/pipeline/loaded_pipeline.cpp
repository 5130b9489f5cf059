#include "pipeline/loaded_pipeline.hpp"

#include "weights/loader.hpp"

namespace omnirt {

std::shared_ptr<const Binding> LoadedComponent::lease(const ComputeForm& form) {
  std::scoped_lock lock(mutex_);
  for (const auto& binding : bindings_) {
    if (binding->form() == form) return binding;
  }
  auto place = [&backend = wrapped->backend()](const Tensor& stored, at::ScalarType dtype) {
    return backend.to_device(stored, dtype);
  };
  return bindings_.emplace_back(bind_weights(*store, *network, form, place));
}

void LoadedComponent::release() {
  if (wrapped) wrapped->forget();
  std::scoped_lock lock(mutex_);
  for (const auto& binding : bindings_) binding->release_pages();
  bindings_.clear();
}

size_t LoadedComponent::converted_bytes() const {
  std::scoped_lock lock(mutex_);
  size_t bytes = 0;
  for (const auto& binding : bindings_) bytes += binding->converted_bytes();
  return bytes;
}

size_t LoadedComponent::packed_bytes() const {
  std::scoped_lock lock(mutex_);
  size_t bytes = 0;
  for (const auto& binding : bindings_) bytes += binding->packed_bytes();
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
