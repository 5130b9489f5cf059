#pragma once
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::krea2 {

std::vector<ModelSpec> entries();
// The folder is one of the model that was distilled.
Trigger is_distilled();
// Which of them a folder is a variant of.
std::string variant_of(const PipelineFolder& folder);
// How adapters for these models are distinguished from others'.
std::vector<AdapterFamily> adapter_families();

}  // namespace omnirt::krea2
