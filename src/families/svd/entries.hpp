#pragma once
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// The registry entries of the svd family.
std::vector<ModelSpec> svd_entries();

}  // namespace omnirt::families
