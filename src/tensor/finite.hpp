#pragma once
#include <optional>
#include <string>

#include "tensor/tensor.hpp"

namespace omnirt {

// The first number of a tensor that is infinite or not a number, and its place: "nan at [0, 3]".
// nullopt where all are finite. Reads the bytes once and copies nothing, unless the tensor is on a
// device or not contiguous.
std::optional<std::string> first_not_finite(const Tensor& x);

}  // namespace omnirt
