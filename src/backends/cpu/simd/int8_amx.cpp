#include "backends/cpu/simd/int8_amx.hpp"

#include "backends/cpu/simd/amx.hpp"
#include "backends/cpu/simd/int8_kernels.hpp"

namespace omnirt::cpu {
#if defined(__x86_64__) && defined(__linux__)
namespace {

// tile `sum` += unsigned tile `a` * signed tile `b`.
template <int sum, int a, int b>
void multiply_tiles() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sum), "i"(a), "i"(b));
}

// Sums of 16 (or 32) rows stay in tiles 0 to 3, two for each block of rows.
template <bool both>
void product_blocks(const uint8_t* a, size_t a_stride, const int8_t* b, size_t k, int32_t* c,
                    size_t c_stride, bool accumulate) {
  const size_t row_bytes = c_stride * sizeof(int32_t);
  int32_t* const c2 = c + 16 * c_stride;
  if (accumulate) {
    load_tile<0>(c, row_bytes);
    load_tile<1>(c + 16, row_bytes);
    if constexpr (both) load_tile<2>(c2, row_bytes);
    if constexpr (both) load_tile<3>(c2 + 16, row_bytes);
  } else {
    clear_tile<0>(), clear_tile<1>(), clear_tile<2>(), clear_tile<3>();
  }
  constexpr size_t panel_row = int8_panel * 4;
  for (size_t p = 0; p < k; p += 64, b += 16 * panel_row) {
    load_tile<4>(a + p, a_stride);
    load_tile<6>(b, panel_row);
    multiply_tiles<0, 4, 6>();
    load_tile<7>(b + 64, panel_row);
    multiply_tiles<1, 4, 7>();
    if constexpr (both) {
      load_tile<5>(a + 16 * a_stride + p, a_stride);
      multiply_tiles<2, 5, 6>();
      multiply_tiles<3, 5, 7>();
    }
  }
  store_tile<0>(c, row_bytes);
  store_tile<1>(c + 16, row_bytes);
  if constexpr (both) store_tile<2>(c2, row_bytes);
  if constexpr (both) store_tile<3>(c2 + 16, row_bytes);
}

}  // namespace

void amx_product(size_t row_count, const uint8_t* a, size_t a_stride, const int8_t* b, size_t k,
                 int32_t* c, size_t c_stride, bool accumulate) {
  if (row_count > 16)
    product_blocks<true>(a, a_stride, b, k, c, c_stride, accumulate);
  else
    product_blocks<false>(a, a_stride, b, k, c, c_stride, accumulate);
}

#else

void amx_product(size_t, const uint8_t*, size_t, const int8_t*, size_t, int32_t*, size_t, bool) {}

#endif
}  // namespace omnirt::cpu
