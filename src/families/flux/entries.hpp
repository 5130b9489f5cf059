#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::flux {

std::vector<ModelSpec> entries();
// How adapters for models of this family are recognised.
std::vector<AdapterFamily> adapter_families();
// The id of the entry that a folder is a variant of.
std::string variant_of(const PipelineFolder& folder);

}  // namespace omnirt::flux
