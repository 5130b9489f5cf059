#pragma once
#include <cstddef>
#include <cstdint>

// Products of 16x64 by 64x16 bytes on the matrix unit (amx.hpp), seven times the rate of VNNI.
namespace omnirt::cpu {

// As Int8Kernels::product; up to amx_rows rows, always in whole blocks of 16.
constexpr size_t amx_rows = 32;
void amx_product(size_t row_count, const uint8_t* a, size_t a_stride, const int8_t* b, size_t k,
                 int32_t* c, size_t c_stride, bool accumulate);

}  // namespace omnirt::cpu
