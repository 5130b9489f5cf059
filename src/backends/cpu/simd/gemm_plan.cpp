#include <unistd.h>

#include <algorithm>

#include "backends/cpu/simd/gemm_product.hpp"
#include "backends/cpu/simd/integers.hpp"

namespace omnirt::cpu {
namespace {

size_t cache_size(int name, size_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<size_t>(bytes) : otherwise;
}

}  // namespace

const CacheSizes& cache_sizes() {
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  static const CacheSizes sizes{cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10),
                                cache_size(_SC_LEVEL2_CACHE_SIZE, 512 << 10)};
#else
  static const CacheSizes sizes{32 << 10, 512 << 10};
#endif
  return sizes;
}

// A tile's rows of the left side (up to 14) should fill half of the first level cache, the other
// half is for the panel that streams past. A fixed function of layer and machine: blocks decide the
// order of sums when there are taps.
InnerBlocks inner_blocks(int64_t channels, int64_t taps) {
  const auto half = static_cast<int64_t>(cache_sizes().l1 / 2 / (14 * sizeof(float)));
  const int64_t longest = std::clamp<int64_t>(half / 16 * 16, 256, 512);
  const int64_t limit = std::max<int64_t>(1, longest / taps);
  if (channels <= limit + limit / 4) return {channels, taps, std::max<int64_t>(1, channels)};
  const int64_t even = ceil_div(channels, ceil_div(channels, limit));
  const int64_t unit = even >= 64 ? 16 : 4;
  return {channels, taps, ceil_div(even, unit) * unit};
}

ProductPlan plan_product(const Product& p, int64_t panel_columns, int64_t tile_rows, int threads) {
  const int64_t halves = p.epilogue.geglu ? 2 : 1;
  const auto l2 = static_cast<int64_t>(cache_sizes().l2);
  const auto floats = static_cast<int64_t>(sizeof(float));
  ProductPlan plan;
  plan.units = ceil_div(p.n, panel_columns);
  // The block of panels takes two fifths of the second level cache, the block of sums as much.
  const int64_t unit_bytes =
      halves * panel_columns * std::max<int64_t>(1, p.inner.longest()) * floats;
  plan.unit_pieces = ceil_div(plan.units, std::max<int64_t>(1, l2 * 2 / 5 / unit_bytes));
  // Some pieces for each thread even out what the threads get, as long as a piece is worth it.
  const int64_t work = 2 * p.m * p.n * halves * p.inner.channels * p.inner.taps;
  const int64_t wanted =
      threads == 1 ? 1 : std::clamp<int64_t>(work / 2'000'000, 1, int64_t{4} * threads);
  // Many rows are cut along m: each piece along n reads the left side again.
  const int64_t narrowest = p.m <= 4 * tile_rows ? 1 : 4;
  if (p.m < 64 * tile_rows && plan.unit_pieces < wanted) {
    plan.unit_pieces =
        std::max(plan.unit_pieces, std::min(wanted, ceil_div(plan.units, narrowest)));
  }
  const int64_t most = std::max<int64_t>(1, p.m / (8 * tile_rows));
  plan.row_pieces = std::min(most, ceil_div(wanted, plan.unit_pieces));
  if (p.inner.count() > 1) {
    const int64_t row_bytes = plan.widest() * halves * panel_columns * floats;
    const int64_t tallest = std::max(tile_rows, l2 * 2 / 5 / row_bytes);
    plan.row_pieces = std::max(plan.row_pieces, ceil_div(p.m, tallest));
  }
  return plan;
}

}  // namespace omnirt::cpu
