#include "backends/cpu/simd/bf16_product.hpp"

#include "backends/cpu/simd/target.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#define OMNIRT_BF16_CODE __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#endif

namespace omnirt::cpu {
#if defined(__x86_64__)
namespace {

constexpr size_t pairs = split_step / 2;    // of inner indices in a step
constexpr size_t lanes = 16;                // columns of a tile
constexpr size_t tile = pairs * lanes * 2;  // values
constexpr size_t rows_at_once = 8;          // with two sums each, in registers
constexpr auto row_values = static_cast<size_t>(split_step);

// Two neighbouring values of a row, for every lane.
OMNIRT_BF16_CODE inline __m512bh both_values(const uint16_t* from) {
  int32_t bits = 0;
  std::memcpy(&bits, from, sizeof(bits));
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(bits));
}

OMNIRT_BF16_CODE inline __m512bh line(const uint16_t* from) {
  return reinterpret_cast<__m512bh>(_mm512_load_si512(from));
}

struct Sums {
  __m512 first[rows_at_once], second[rows_at_once];
};

OMNIRT_BF16_CODE inline void add_step(const uint16_t* left, const uint16_t* panel, Sums& sums) {
  for (size_t i = 0; i < pairs; ++i) {
    const __m512bh first = line(panel + i * 2 * lanes), second = line(panel + tile + i * 2 * lanes);
#pragma GCC unroll 8
    for (size_t r = 0; r < rows_at_once; ++r) {
      const __m512bh x = both_values(left + r * row_values + 2 * i);
      sums.first[r] = _mm512_dpbf16_ps(sums.first[r], x, first);
      sums.second[r] = _mm512_dpbf16_ps(sums.second[r], x, second);
    }
  }
}

OMNIRT_BF16_CODE void multiply_rows(const SplitProduct& p, size_t row) {
  float* to = p.sums + row * p.sums_stride;
  Sums sums;
#pragma GCC unroll 8
  for (size_t r = 0; r < rows_at_once; ++r) {
    sums.first[r] = p.accumulate ? _mm512_loadu_ps(to + r * p.sums_stride) : _mm512_setzero_ps();
    sums.second[r] =
        p.accumulate ? _mm512_loadu_ps(to + r * p.sums_stride + lanes) : _mm512_setzero_ps();
  }
  const uint16_t* panel = p.panel;
  for (size_t step = 0; step < p.steps; ++step) {
    const uint16_t* left = p.left + step * p.plane + row * row_values;
    for (size_t tap = 0; tap < p.tap_count; ++tap, panel += panel_step_values(1))
      add_step(left + p.taps[tap] * split_step, panel, sums);
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < rows_at_once; ++r) {
    _mm512_storeu_ps(to + r * p.sums_stride, sums.first[r]);
    _mm512_storeu_ps(to + r * p.sums_stride + lanes, sums.second[r]);
  }
}

// Of the forms of instructions that take a mask, for the others' headers warn of their own code.
constexpr __mmask16 all = 0xffff;

// A step of `have` rows (at most 16) of bf16 weights -> a tile: pairs are moved as one number of 32
// bits, and a 16x16 matrix of these is transposed.
OMNIRT_BF16_CODE void pack_tile(const uint8_t* from, size_t row_bytes, int64_t have, uint16_t* to) {
  __m512i r[lanes];
  __m512i t[lanes];
  for (size_t i = 0; i < lanes; ++i)
    r[i] = static_cast<int64_t>(i) < have ? _mm512_loadu_si512(from + i * row_bytes)
                                          : _mm512_setzero_si512();
  for (size_t i = 0; i < lanes; i += 2) {
    t[i] = _mm512_maskz_unpacklo_epi32(all, r[i], r[i + 1]);
    t[i + 1] = _mm512_maskz_unpackhi_epi32(all, r[i], r[i + 1]);
  }
  for (size_t i = 0; i < lanes; i += 4) {
    r[i] = _mm512_maskz_unpacklo_epi64(0xff, t[i], t[i + 2]);
    r[i + 1] = _mm512_maskz_unpackhi_epi64(0xff, t[i], t[i + 2]);
    r[i + 2] = _mm512_maskz_unpacklo_epi64(0xff, t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_maskz_unpackhi_epi64(0xff, t[i + 1], t[i + 3]);
  }
  // r[4 g + c] holds in its block b the pair 4 b + c of the rows 4 g to 4 g + 3.
  for (size_t c = 0; c < 4; ++c) {
    const __m512i low_a = _mm512_maskz_shuffle_i32x4(all, r[c], r[4 + c], 0x88);
    const __m512i low_b = _mm512_maskz_shuffle_i32x4(all, r[8 + c], r[12 + c], 0x88);
    const __m512i high_a = _mm512_maskz_shuffle_i32x4(all, r[c], r[4 + c], 0xdd);
    const __m512i high_b = _mm512_maskz_shuffle_i32x4(all, r[8 + c], r[12 + c], 0xdd);
    _mm512_store_si512(to + c * 2 * lanes, _mm512_maskz_shuffle_i32x4(all, low_a, low_b, 0x88));
    _mm512_store_si512(to + (4 + c) * 2 * lanes,
                       _mm512_maskz_shuffle_i32x4(all, high_a, high_b, 0x88));
    _mm512_store_si512(to + (8 + c) * 2 * lanes,
                       _mm512_maskz_shuffle_i32x4(all, low_a, low_b, 0xdd));
    _mm512_store_si512(to + (12 + c) * 2 * lanes,
                       _mm512_maskz_shuffle_i32x4(all, high_a, high_b, 0xdd));
  }
}

}  // namespace

bool machine_bf16() {
  static const bool found = __builtin_cpu_supports("avx512bf16") != 0 &&
                            __builtin_cpu_supports("avx512bw") != 0 &&
                            __builtin_cpu_supports("avx512vl") != 0;
  return found;
}

void bf16_product(const SplitProduct& task) {
  for (size_t row = 0; row < task.rows; row += rows_at_once) multiply_rows(task, row);
}

void pack_bf16(const SplitPack& task) {
  const WeightView& weight = task.weight;
  const int64_t stride = weight.row_stride ? weight.row_stride : weight.columns;
  if (weight.type != WeightType::bf16 || task.taps != 1) return rounded_kernels(false).pack(task);
  const int64_t whole = task.channels / split_step * split_step;
  const auto* from =
      static_cast<const uint8_t*>(weight.data) + 2 * (task.row * stride + task.channel);
  uint16_t* to = task.panel;
  for (int64_t first = 0; first < whole; first += split_step, to += panel_step_values(1)) {
    for (int64_t n = 0; n < split_panel; n += lanes)
      pack_tile(from + 2 * (n * stride + first), static_cast<size_t>(2 * stride),
                std::max<int64_t>(0, task.have - n), to + static_cast<size_t>(n) / lanes * tile);
  }
  if (whole == task.channels) return;
  SplitPack rest = task;
  rest.channel += whole;
  rest.channels -= whole;
  rest.panel = to;
  rounded_kernels(false).pack(rest);
}

#else

bool machine_bf16() {
  return false;
}
void bf16_product(const SplitProduct&) {}
void pack_bf16(const SplitPack&) {}

#endif

bool bf16_available() {
  return machine_bf16() && (targets().used == "avx512_bf16" || targets().used == "amx");
}

}  // namespace omnirt::cpu
