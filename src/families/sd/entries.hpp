#pragma once
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// The registry entries of the sd family.
std::vector<ModelSpec> sd_entries();

}  // namespace omnirt::families
