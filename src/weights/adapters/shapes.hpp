#pragma once
#include <string>

#include "weights/adapters/layer_change.hpp"

namespace omnirt::adapters {

// Whether the factors of a change make a weight of its parameter's shape: "" where they do, else
// what does not fit, with the shapes. Sets the rank.
std::string check_shapes(LayerChange& change);

}  // namespace omnirt::adapters
