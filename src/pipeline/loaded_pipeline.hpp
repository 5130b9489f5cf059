#pragma once
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "base/ensure.hpp"
#include "nn/network.hpp"
#include "pipeline/image_processor.hpp"
#include "pipeline/scheduler_choice.hpp"
#include "runtime/backend.hpp"
#include "runtime/call_memo.hpp"
#include "text/tokenizer.hpp"

namespace omnirt {

// One component in memory: its topology and its weights, or what it is where it is no network.
// Shared by the runs that use it.
struct LoadedComponent {
  std::string name;
  std::string class_name;
  std::unique_ptr<nn::Network> network;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const ImageProcessor> image_processor;
  std::shared_ptr<const WeightStore> store;
  std::string stored_dtype;
  std::string kept_dtype{};  // of its layers' weights in memory, where that is narrower; or ""
  std::shared_ptr<WrappedComponent> wrapped;  // of a network
  CallMemo known_calls;                       // stay when the weights are released

  // The weights in a compute form, with `overlay` over them where one is given; a run holds the
  // lease while it computes with them. Levels that want the same form share it, and so do overlays:
  // what they do not change is there once. The overlays used last are kept.
  std::shared_ptr<const Binding> lease(const ComputeForm& form,
                                       const std::shared_ptr<const Overlay>& overlay = nullptr);
  // The same for one run alone, which may drop weights as it goes (Binding::drop).
  std::shared_ptr<const Binding> own(const ComputeForm& form,
                                     const std::shared_ptr<const Overlay>& overlay = nullptr) const;
  // Forgets the compute forms; those in use live on with their lease. The next lease makes them
  // again.
  void release();
  size_t converted_bytes() const;
  size_t packed_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Binding> base(const ComputeForm& form);
  std::shared_ptr<const Binding> bound(const ComputeForm& form) const;
  std::vector<std::shared_ptr<const Binding>> bindings_;  // one per form
  std::list<std::shared_ptr<const Binding>> overlaid_;    // the one used last first
};

// A pipeline's components, loaded. Runs share it; nothing here belongs to one of them.
class LoadedPipeline {
 public:
  // The same component may serve under several names.
  void add(const std::string& name, std::shared_ptr<LoadedComponent> component);
  LoadedComponent* find(const std::string& name) const;
  const std::map<std::string, std::shared_ptr<LoadedComponent>>& components() const {
    return components_;
  }

  // Another component in place of the one that is there: a tokenizer with more tokens.
  void replace(const std::string& name, std::shared_ptr<LoadedComponent> component) {
    components_[name] = std::move(component);
  }
  // What this run's adapters make of a component's weights; null where nothing.
  std::shared_ptr<const Overlay> overlay(const std::string& component) const {
    auto it = overlays_.find(component);
    return it == overlays_.end() ? nullptr : it->second;
  }
  void set_overlay(const std::string& component, std::shared_ptr<const Overlay> overlay) {
    overlays_[component] = std::move(overlay);
  }

  template <class T>
  const T& get(const std::string& name) const {
    LoadedComponent* component = find(name);
    ensure(component != nullptr, "component '{}' is not loaded", name);
    const T* typed = nullptr;
    if constexpr (std::is_base_of_v<text::Tokenizer, T>)
      typed = dynamic_cast<const T*>(component->tokenizer.get());
    else if constexpr (std::is_base_of_v<ImageProcessor, T>)
      typed = dynamic_cast<const T*>(component->image_processor.get());
    else
      typed = dynamic_cast<const T*>(component->network.get());
    if (!typed) {
      throw Unsupported({"components." + name, component->class_name,
                         "a component of this class cannot be used here",
                         "use one of the class that the model was made with"});
    }
    return *typed;
  }

 private:
  std::map<std::string, std::shared_ptr<LoadedComponent>> components_;
  std::map<std::string, std::shared_ptr<const Overlay>> overlays_;
};

// Schedulers are settled with the request, not loaded.
template <class T>
void require_component(const LoadedPipeline& pipeline, const std::string& name) {
  if constexpr (!std::is_same_v<T, SchedulerChoice>) pipeline.get<T>(name);
}

}  // namespace omnirt
