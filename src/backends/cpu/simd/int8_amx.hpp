#pragma once
#include <cstddef>
#include <cstdint>

// The matrix unit of recent x86 servers (AMX): products of 16x64 by 64x16 bytes, seven times the
// rate of VNNI. Highway 1.0 has no target for it.
namespace omnirt::cpu {

// Asks the kernel for the unit once; false where processor, system or build do not have it.
bool amx_available();

// Tiles belong to a thread: configured before its products, released after (a released unit costs
// nothing at a context switch).
void amx_begin();
void amx_end();

// As Int8Kernels::product; up to amx_rows rows, always in whole blocks of 16.
constexpr size_t amx_rows = 32;
void amx_product(size_t row_count, const uint8_t* a, size_t a_stride, const int8_t* b, size_t k,
                 int32_t* c, size_t c_stride, bool accumulate);

}  // namespace omnirt::cpu
