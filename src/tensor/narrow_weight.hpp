#pragma once
#include "tensor/weight.hpp"

namespace omnirt {

// The numbers of a weight (fp32, fp16, bf16; any shape, contiguous) rounded to `type`, in memory of
// their own outside the arena, which is returned to the system with them. `name` is the weight's.
// Throws Unsupported where a number is beyond the type's largest.
Tensor narrowed(const Tensor& numbers, io::Dtype type, const std::string& name);

}  // namespace omnirt
