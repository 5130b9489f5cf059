#pragma once
#include "ops/op_table.hpp"

namespace omnirt::cuda {

// Attention without the score matrix (Dao et al. 2022, arXiv 2205.14135): the flash kernel for half
// types on devices that have it (compute capability 8 and over), the memory-efficient one (Rabe &
// Staats 2021, arXiv 2112.05682) for the rest.
void add_fused_attention(ops::OpTable& table, bool flash);

}  // namespace omnirt::cuda
