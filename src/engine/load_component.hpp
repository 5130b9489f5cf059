#pragma once
#include <memory>

#include "pipeline/loaded_pipeline.hpp"
#include "pipeline/model_spec.hpp"

namespace omnirt {

// One component from its folder: topology from the config, headers checked against it; or a
// tokenizer. Reads no weight. Throws Unsupported, InvalidFile, WeightMismatch. With `upcasts`, an
// autoencoder whose config asks for it computes in fp32.
std::shared_ptr<LoadedComponent> load_component(const Catalogue& catalogue,
                                                const ComponentFolder& folder, Backend& backend,
                                                const PlanFacts& facts, bool upcasts);

// "fp32" and the like; throws Unsupported for others.
at::ScalarType compute_dtype(const std::string& name);

}  // namespace omnirt
