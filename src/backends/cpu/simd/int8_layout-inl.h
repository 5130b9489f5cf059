// A file's rows of bytes to panels. A Highway per-target header.
#if defined(OMNIRT_CPU_INT8_LAYOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_INT8_LAYOUT_INL_H_
#undef OMNIRT_CPU_INT8_LAYOUT_INL_H_
#else
#define OMNIRT_CPU_INT8_LAYOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/simd/int8_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t int8_quads = 16;  // bytes of a row that are laid out at once: four quads

#if HWY_TARGET == HWY_SCALAR
constexpr bool int8_lays_squares = false;
HWY_INLINE void lay_out_square(const int8_t*, size_t, int8_t*) {}
#else
constexpr bool int8_lays_squares = true;
// Four rows of four quads each, transposed.
HWY_INLINE void lay_out_square(const int8_t* from, size_t stride, int8_t* out) {
  const hn::Full128<int32_t> d;
  const hn::Full128<int64_t> d64;
  const hn::Full128<int8_t> d8;
  const auto a = hn::BitCast(d, hn::LoadU(d8, from));
  const auto b = hn::BitCast(d, hn::LoadU(d8, from + stride));
  const auto c = hn::BitCast(d, hn::LoadU(d8, from + 2 * stride));
  const auto e = hn::BitCast(d, hn::LoadU(d8, from + 3 * stride));
  const auto ab_low = hn::BitCast(d64, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(d64, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(d64, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(d64, hn::InterleaveUpper(d, c, e));
  constexpr size_t step = int8_panel * 4;
  hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d64, ab_low, ce_low)), d8, out);
  hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d64, ab_low, ce_low)), d8, out + step);
  hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d64, ab_high, ce_high)), d8, out + 2 * step);
  hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d64, ab_high, ce_high)), d8, out + 3 * step);
}
#endif

// Quads [from, padded) of column n, zeros beyond the row's end.
HWY_INLINE void lay_out_column(const Int8Slice& slice, size_t n, size_t from, size_t padded,
                               int8_t* out) {
  const size_t end = n < slice.row_count ? slice.count : 0;
  for (size_t p = from; p < padded; p += 4) {
    int8_t quad[4] = {};
    if (p < end)
      std::memcpy(quad, slice.rows + n * slice.row_stride + p, std::min<size_t>(4, end - p));
    std::memcpy(out + p * int8_panel + n * 4, quad, 4);
  }
}

void int8_lay_out(const Int8Slice& slice, size_t padded, int8_t* out) {
  const size_t rows = int8_lays_squares ? slice.row_count / 4 * 4 : 0;
  const size_t whole = slice.count / int8_quads * int8_quads;
  // A cache line of each row at a time.
  for (size_t line = 0; line < whole; line += 4 * int8_quads)
    for (size_t n = 0; n < rows; n += 4)
      for (size_t p = line; p < std::min(whole, line + 4 * int8_quads); p += int8_quads)
        lay_out_square(slice.rows + n * slice.row_stride + p, slice.row_stride,
                       out + p * int8_panel + n * 4);
  for (size_t n = 0; n < int8_panel; ++n)
    lay_out_column(slice, n, n < rows ? whole : 0, padded, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
