#pragma once
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// The registry entries of the sdxl family.
std::vector<ModelSpec> sdxl_entries();

}  // namespace omnirt::families
