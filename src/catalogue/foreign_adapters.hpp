#pragma once
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// Kinds of models that this build does not serve and whose adapters are met in the wild: they are
// refused by name. A family that comes here says itself how its adapters are told, and its row
// goes.
std::vector<AdapterFamily> foreign_adapters();

}  // namespace omnirt
