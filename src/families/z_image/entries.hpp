#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::z_image {

std::vector<ModelSpec> entries();
// Whose adapters Z-Image's are, Omni's too.
std::vector<AdapterFamily> adapter_families();
// The id of the entry that a folder is a variant of.
std::string variant_of(const PipelineFolder& folder);
// The short way to say the usual guider's settings.
std::vector<const KeyInfo*> guider_keys();

}  // namespace omnirt::z_image
