#pragma once
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// Kinds of models that this build does not serve and whose adapters users have: they are
// refused by name. A family that is added says itself how its adapters are recognised, and its
// row goes.
std::vector<AdapterFamily> foreign_adapters();

}  // namespace omnirt
