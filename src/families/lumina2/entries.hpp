#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::lumina2 {

std::vector<ModelSpec> entries();
// The id of the entry that a folder is a variant of.
std::string variant_of(const PipelineFolder& folder);
// The short way to say the usual guider's settings.
std::vector<const KeyInfo*> guider_keys();
// How adapters for these models are distinguished from others'.
std::vector<AdapterFamily> adapter_families();

}  // namespace omnirt::lumina2
