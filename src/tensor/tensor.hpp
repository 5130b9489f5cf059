#pragma once
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

namespace omnirt {

// ATen's tensor is this project's tensor: const& in, value out.
using at::Tensor;

}  // namespace omnirt
