#pragma once
#include "backends/cpu/simd/split_kernels.hpp"

// The instruction of AVX512-BF16 (AMD since Zen 4, Intel's servers since Cooper Lake): per lane of
// fp32 two products of bf16, at twice the rate of fp32. Subnormal numbers count as zero in it.
// Highway 1.0 has no target for it.
namespace omnirt::cpu {

// Whether processor, system and build have it; whether kernels may use it (target.hpp).
bool machine_bf16();
bool bf16_available();

// SplitKernels::product and pack of one part.
void bf16_product(const SplitProduct& task);
void pack_bf16(const SplitPack& task);

}  // namespace omnirt::cpu
