#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::qwen_image21 {

std::vector<ModelSpec> entries();
// Which of them a folder is a variant of.
std::string variant_of(const PipelineFolder& folder);
// How adapters for these models are distinguished from others'.
std::vector<AdapterFamily> adapter_families();

}  // namespace omnirt::qwen_image21
