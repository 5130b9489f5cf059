#pragma once
#include <memory>
#include <optional>

#include "base/storage_type.hpp"
#include "pipeline/loaded_pipeline.hpp"
#include "pipeline/model_spec.hpp"

namespace omnirt {

// All that a loaded component depends on. Loading is given nothing else, so what it reads
// distinguishes components.
struct ComponentKey {
  ComponentFolder folder;
  DeviceId device;
  PlanFacts facts;
  bool upcasts = false;  // an autoencoder whose config asks for it computes in fp32
  // A narrower type that the weights of its layers are kept in (weights/storage_casting.hpp).
  std::optional<StorageType> storage{};
  bool operator==(const ComponentKey&) const = default;
};

// One component from its folder: topology from the config, headers checked against it; or a
// tokenizer or image processor. Reads no weight. Throws Unsupported, InvalidFile, WeightMismatch.
// `backend` is the one of the key's device.
std::shared_ptr<LoadedComponent> load_component(const Catalogue& catalogue, Backend& backend,
                                                const ComponentKey& key);

}  // namespace omnirt
