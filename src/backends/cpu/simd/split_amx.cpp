#include "backends/cpu/simd/split_amx.hpp"

#include "backends/cpu/simd/amx.hpp"

namespace omnirt::cpu {
#if defined(__x86_64__) && defined(__linux__)
namespace {

// tile `sum` += pairs of bf16 of tile `a` * those of tile `b`.
template <int sum, int a, int b>
void multiply_tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sum), "i"(a), "i"(b));
}

constexpr size_t line = 64;       // bytes of a row of a tile
constexpr size_t tile = 16 * 32;  // bf16 values of a tile
constexpr size_t lanes = 16;      // columns of a tile of sums

// Asks for tile `at` of the next step of the panel: tiles are loaded faster than the second level
// cache answers.
template <size_t parts>
void ask_for_next(const uint16_t* panel, size_t at) {
  for (size_t i = 16 * at; i < 16 * at + 16; ++i)
    __builtin_prefetch(panel + panel_step_values(parts) + i * 32, 0, 3);
}

// The high parts of a step. Rows 0 to 15 of the left side are in tile 4, rows 16 to 31 in tile 5;
// the panel's columns in tiles 6 and 7. What is loaded is used for all products that it can be
// before it is replaced.
template <bool both, size_t parts>
void multiply_highs(const uint16_t* high, const uint16_t* panel) {
  load_tile<4>(high, line);
  load_tile<6>(panel, line);
  multiply_tiles<0, 4, 6>();
  ask_for_next<parts>(panel, 0);
  load_tile<7>(panel + tile, line);
  multiply_tiles<1, 4, 7>();
  if constexpr (both) {
    load_tile<5>(high + tile, line);
    multiply_tiles<2, 5, 6>();
    multiply_tiles<3, 5, 7>();
  }
  ask_for_next<parts>(panel, 1);
}

// Both parts: the panel's highs are still in tiles 6 and 7 when the left side's lows come.
template <bool both>
void multiply_step(const uint16_t* high, const uint16_t* low, const uint16_t* panel) {
  multiply_highs<both, 2>(high, panel);
  load_tile<4>(low, line);
  multiply_tiles<0, 4, 6>();
  multiply_tiles<1, 4, 7>();
  if constexpr (both) {
    load_tile<5>(low + tile, line);
    multiply_tiles<2, 5, 6>();
    multiply_tiles<3, 5, 7>();
  }
  ask_for_next<2>(panel, 2);
  load_tile<4>(high, line);
  load_tile<6>(panel + 2 * tile, line);
  multiply_tiles<0, 4, 6>();
  ask_for_next<2>(panel, 3);
  load_tile<7>(panel + 3 * tile, line);
  multiply_tiles<1, 4, 7>();
  if constexpr (both) {
    load_tile<5>(high + tile, line);
    multiply_tiles<2, 5, 6>();
    multiply_tiles<3, 5, 7>();
  }
}

template <bool both, size_t parts>
void product(const SplitProduct& p) {
  const size_t row_bytes = p.sums_stride * sizeof(float);
  float* const second = p.sums + 16 * p.sums_stride;
  if (p.accumulate) {
    load_tile<0>(p.sums, row_bytes);
    load_tile<1>(p.sums + lanes, row_bytes);
    if constexpr (both) load_tile<2>(second, row_bytes);
    if constexpr (both) load_tile<3>(second + lanes, row_bytes);
  } else {
    clear_tile<0>(), clear_tile<1>(), clear_tile<2>(), clear_tile<3>();
  }
  const uint16_t* panel = p.panel;
  for (size_t step = 0; step < p.steps; ++step) {
    const uint16_t* left = p.left + parts * step * p.plane;
    for (size_t tap = 0; tap < p.tap_count; ++tap, panel += panel_step_values(parts)) {
      const uint16_t* from = left + p.taps[tap] * split_step;
      if constexpr (parts == 1)
        multiply_highs<both, 1>(from, panel);
      else
        multiply_step<both>(from, from + p.plane, panel);
    }
  }
  store_tile<0>(p.sums, row_bytes);
  store_tile<1>(p.sums + lanes, row_bytes);
  if constexpr (both) store_tile<2>(second, row_bytes);
  if constexpr (both) store_tile<3>(second + lanes, row_bytes);
}

}  // namespace

void amx_split_product(const SplitProduct& task) {
  task.rows > 16 ? product<true, 2>(task) : product<false, 2>(task);
}

void amx_rounded_product(const SplitProduct& task) {
  task.rows > 16 ? product<true, 1>(task) : product<false, 1>(task);
}

#else

void amx_split_product(const SplitProduct&) {}
void amx_rounded_product(const SplitProduct&) {}

#endif
}  // namespace omnirt::cpu
