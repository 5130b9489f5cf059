#include "pipeline/loaded_pipeline.hpp"

#include "weights/loader.hpp"

namespace omnirt {

std::shared_ptr<const Binding> LoadedComponent::lease() {
  std::scoped_lock lock(mutex_);
  if (!binding_) binding_ = bind_weights(*store, *network, form);
  return binding_;
}

void LoadedComponent::release() {
  std::scoped_lock lock(mutex_);
  binding_.reset();
}

size_t LoadedComponent::converted_bytes() const {
  std::scoped_lock lock(mutex_);
  return binding_ ? binding_->converted_bytes() : 0;
}

void LoadedPipeline::add(const std::string& name, std::shared_ptr<LoadedComponent> component) {
  auto [it, fresh] = components_.emplace(name, std::move(component));
  ensure(fresh, "component '{}' was loaded twice", name);
}

LoadedComponent* LoadedPipeline::find(const std::string& name) const {
  auto it = components_.find(name);
  return it == components_.end() ? nullptr : it->second.get();
}

Context LoadedPipeline::context(const std::string& name, Context::Options options) const {
  LoadedComponent* component = find(name);
  ensure(component && component->network, "component '{}' is not a loaded network", name);
  return {*component->wrapped.ops, component->lease(), options};
}

}  // namespace omnirt
