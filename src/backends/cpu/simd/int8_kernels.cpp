#include "backends/cpu/simd/int8_kernels.hpp"

#define OMNIRT_WANT_VNNI
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/int8_kernels.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/int8_finish-inl.h"
#include "backends/cpu/simd/int8_layout-inl.h"
#include "backends/cpu/simd/int8_product-inl.h"
#include "backends/cpu/simd/int8_quantize-inl.h"
#include "backends/cpu/simd/int8_rotate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

Int8Kernels int8_table() {
  return {int8_rows,        &int8_product, &int8_range, &int8_quantize,
          &int8_rotate_row, &int8_finish,  &int8_widen, &int8_quantize_weights,
          &int8_lay_out,    nullptr,       nullptr};
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>

#include "backends/cpu/simd/amx.hpp"
#include "backends/cpu/simd/int8_amx.hpp"

namespace omnirt::cpu {

HWY_EXPORT(int8_table);

Int8Kernels int8_kernels(bool tiles) {
  Int8Kernels table = HWY_DYNAMIC_DISPATCH(int8_table)();
  const bool newest = (hwy::SupportedTargets() & HWY_TARGETS & HWY_AVX3_DL) != 0;
  if (tiles && newest && amx_features().int8) {
    table.rows = amx_rows;
    table.product = &amx_product;
    table.begin = &amx_begin;
    table.end = &amx_end;
  }
  return table;
}

Int8Scale int8_scale(const Int8Range& range) {
  const float scale = range.high / 255 - range.low / 255;
  if (std::isnan(scale)) return {scale, 0.0f, 0};
  // Below, the inverse would leave the range of a float.
  constexpr float smallest = 1e-35f;
  if (scale < smallest) return {0.0f, 0.0f, 0};
  const float inverse = 1 / scale;
  const long zero = std::lrint(-range.low * inverse);
  return {scale, inverse, static_cast<int32_t>(std::clamp(zero, 0L, 255L))};
}

}  // namespace omnirt::cpu
#endif
