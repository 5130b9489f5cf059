#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::qwen_image_edit {

std::vector<ModelSpec> entries();
// The id of the entry that a folder is a variant of.
std::string variant_of(const PipelineFolder& folder);

}  // namespace omnirt::qwen_image_edit
