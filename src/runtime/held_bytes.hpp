#pragma once
#include "runtime/binding.hpp"

namespace omnirt {

// Bytes of memory that a component's weights take in a form: those of the file where kernels read
// it as it is, else those of what is made of it. Packed forms come on top.
size_t held_bytes(const WeightStore& store, const ComputeForm& form);

}  // namespace omnirt
