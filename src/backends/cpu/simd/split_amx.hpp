#pragma once
#include "backends/cpu/simd/split_kernels.hpp"

namespace omnirt::cpu {

// SplitKernels::product on the matrix unit (amx.hpp).
void amx_split_product(const SplitProduct& task);
// The same of kernels of one part.
void amx_rounded_product(const SplitProduct& task);

}  // namespace omnirt::cpu
