#include "backends/cpu/simd/int8_amx.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "backends/cpu/simd/int8_kernels.hpp"

namespace omnirt::cpu {
#if defined(__x86_64__) && defined(__linux__)
namespace {

// "Intel 64 and IA-32 Architectures Software Developer's Manual", LDTILECFG: palette 1.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig tile_config;

// Assembly, for intrinsics would need the whole file (and what it includes) built for this unit.
template <int tile>
void load_tile(const void* from, size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(tile) : "memory");
}
template <int tile>
void store_tile(void* to, size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(tile) : "memory");
}
template <int tile>
void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(tile));
}
// tile `sum` += unsigned tile `a` * signed tile `b`.
template <int sum, int a, int b>
void multiply_tiles() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sum), "i"(a), "i"(b));
}

bool has_amx_int8() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned tile_bit = 1u << 24, int8_bit = 1u << 25;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & tile_bit) && (d & int8_bit);
}

// A process has to ask for the unit's 8 KB of state (Linux 5.16 and later).
bool ask_for_tiles() {
#ifdef SYS_arch_prctl
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
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

bool amx_available() {
  static const bool available = has_amx_int8() && ask_for_tiles();
  return available;
}

void amx_begin() {
  asm volatile("ldtilecfg %0" ::"m"(tile_config));
}
void amx_end() {
  asm volatile("tilerelease");
}

void amx_product(size_t row_count, const uint8_t* a, size_t a_stride, const int8_t* b, size_t k,
                 int32_t* c, size_t c_stride, bool accumulate) {
  if (row_count > 16)
    product_blocks<true>(a, a_stride, b, k, c, c_stride, accumulate);
  else
    product_blocks<false>(a, a_stride, b, k, c, c_stride, accumulate);
}

#else

bool amx_available() {
  return false;
}
void amx_begin() {}
void amx_end() {}
void amx_product(size_t, const uint8_t*, size_t, const int8_t*, size_t, int32_t*, size_t, bool) {}

#endif
}  // namespace omnirt::cpu
