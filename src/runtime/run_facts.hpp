#pragma once
#include <string>
#include <vector>

#include "base/compute_options.hpp"
#include "base/device_id.hpp"
#include "base/keys.hpp"
#include "ops/packing.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// How a run computes, as far as it decides what a backend compiles.
struct PlanFacts {
  at::ScalarType dtype = at::kFloat;  // to compute in
  ops::PackPolicy pack = ops::PackPolicy::automatic;
  ops::Quantization quantization = ops::Quantization::none;
  MatmulPrecision precision = MatmulPrecision::high;
  bool operator==(const PlanFacts&) const = default;
};

// A network of a pipeline. `tag` is its class.
struct ComponentFacts {
  std::string name;  // "transformer"
  std::string tag;   // "FluxTransformer2DModel"
  bool operator==(const ComponentFacts&) const = default;
};

// What a registry entry says about a model.
struct ModelFacts {
  std::string id;
  std::string family;
  double min_memory_gb = 0;  // that it typically needs on a device
};

// A run as the backend of one of its devices sees it before anything is loaded.
struct RunFacts {
  std::vector<ComponentFacts> components{};  // the networks that this device computes
  ModelFacts model{};
  std::string task{};
  ConfigValues config{};  // settled
  PlanFacts plan{};
};

}  // namespace omnirt
