#include "backends/cpu/simd/winograd_plan.hpp"

#include <unistd.h>

#include <algorithm>

#include "backends/cpu/simd/bf16_product.hpp"
#include "backends/cpu/simd/integers.hpp"

namespace omnirt::cpu {
namespace {

int64_t tile_of(ConvChoice form) {
  return form == ConvChoice::winograd2 || form == ConvChoice::winograd2_bf16 ? 2 : 4;
}
int64_t points_of(ConvChoice form) {
  return (tile_of(form) + 2) * (tile_of(form) + 2);
}

int64_t tiles_of(const WinogradShape& shape, int64_t tile) {
  return ceil_div(shape.out_height(), tile) * ceil_div(shape.out_width(), tile);
}

// Planes a power of two apart would share the same sets of the first-level cache.
size_t pad_plane(size_t floats) {
  return floats + 32;
}

int64_t second_level_floats() {
  static const int64_t floats = [] {
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return std::clamp<int64_t>(bytes > 0 ? bytes : 1 << 20, 1 << 18, 1 << 22) / 4;
  }();
  return floats;
}

// A chunk's transformed tiles come from the outer cache once for each block of output channels: up
// to this many floats (5 MB) that is as fast as the products, on a machine busy on all cores too.
constexpr int64_t near_floats = 5 << 18;
constexpr int64_t least_tiles = 64, most_tiles = 96;

// Multiplications (and what takes their time) for each pair of channels. The transforms' costs are
// measured: they are more of memory than of arithmetic. Filters are transformed once for the whole
// batch; the usual two samples of a guided step share the cost, whatever the actual batch.
double winograd_cost(const WinogradShape& shape, ConvChoice form) {
  const bool big = tile_of(form) == 4;
  const bool rounded = form == ConvChoice::winograd2_bf16 || form == ConvChoice::winograd4_bf16;
  const double product = static_cast<double>(points_of(form)) / (rounded ? 2 : 1);
  const double tiles = static_cast<double>(tiles_of(shape, tile_of(form)));
  const double input = big ? 500 : 180, output = big ? 500 : 150, filter = big ? 125 : 55;
  return filter + tiles * (product + input / static_cast<double>(shape.out_channels) +
                           output / static_cast<double>(shape.in_channels));
}

double direct_cost(const WinogradShape& shape) {
  return 30 + 9 * static_cast<double>(shape.out_height() * shape.out_width());
}

}  // namespace

ConvChoice choose_conv3x3(const WinogradShape& shape) {
  const double direct = direct_cost(shape), four = winograd_cost(shape, ConvChoice::winograd4),
               two = winograd_cost(shape, ConvChoice::winograd2);
  if (direct <= std::min(four, two)) return ConvChoice::direct;
  return four <= two ? ConvChoice::winograd4 : ConvChoice::winograd2;
}

bool winograd_bf16_available() {
  return bf16_available();
}

ConvChoice choose_conv3x3_bf16(const WinogradShape& shape) {
  // Few channels, whose transforms are all the cost, keep to fp32's rule.
  if (!bf16_available() || choose_conv3x3(shape) == ConvChoice::direct) return ConvChoice::direct;
  const double direct = direct_cost(shape) / 2,
               four = winograd_cost(shape, ConvChoice::winograd4_bf16),
               two = winograd_cost(shape, ConvChoice::winograd2_bf16);
  if (direct <= std::min(four, two)) return ConvChoice::direct;
  return four <= two ? ConvChoice::winograd4_bf16 : ConvChoice::winograd2_bf16;
}

WinogradFilters::WinogradFilters(ConvChoice form, int64_t in_channels,
                                 const WinogradKernels& kernels, int64_t panels) {
  const auto columns = static_cast<int64_t>(kernels.panel_columns);
  const auto per_slot = static_cast<int64_t>(kernels.per_slot);
  // Less than half of the second-level cache: the sums and the tiles that stream by need the rest.
  const int64_t room = second_level_floats() * 7 / 16 / (points_of(form) * columns * panels);
  const int64_t most = std::clamp<int64_t>(room / 16 * 16, 32, 128) * per_slot;
  block = round_up(ceil_div(in_channels, ceil_div(in_channels, most)), 16 * per_slot);
  blocks = ceil_div(in_channels, block);
  plane = pad_plane(static_cast<size_t>(block / per_slot * columns));
  panel_floats = plane * static_cast<size_t>(points_of(form));
}

size_t packed_winograd_floats(ConvChoice form, int64_t in_channels, int64_t out_channels,
                              const WinogradKernels& kernels) {
  const int64_t columns = static_cast<int64_t>(kernels.panel_columns);
  const WinogradFilters filters(form, in_channels, kernels, 1);
  return filters.panel_floats *
         static_cast<size_t>(filters.blocks * ceil_div(out_channels, columns));
}

WinogradPlan plan_winograd(ConvChoice form, const WinogradShape& shape,
                           const WinogradKernels& kernels, int threads, bool packed) {
  const int64_t tile = tile_of(form), columns = static_cast<int64_t>(kernels.panel_columns);
  WinogradPlan p;
  p.grid = {&shape, tile, ceil_div(shape.out_height(), tile), ceil_div(shape.out_width(), tile)};
  p.points = points_of(form);
  const int64_t tiles = p.grid.tiles();
  if (tiles <= 0) return p;

  const auto per_slot = static_cast<int64_t>(kernels.per_slot);
  const int64_t tile_floats = p.points * ceil_div(shape.in_channels, per_slot);
  const int64_t most = std::clamp(near_floats / tile_floats, least_tiles, most_tiles);
  p.chunks = ceil_div(tiles, most);
  p.chunk_tiles = ceil_div(tiles, p.chunks);
  p.chunks = ceil_div(tiles, p.chunk_tiles);
  p.fused = p.chunks >= 3 * threads;

  // Where the tiles are far, wider blocks of output channels read them less often.
  p.panels = ceil_div(shape.out_channels, columns);
  p.block_panels = p.chunk_tiles * tile_floats > near_floats * 5 / 4 && !packed ? 4 : 1;
  const int64_t items = p.fused ? 1 : ceil_div(4 * threads, p.chunks);
  p.block_panels = std::clamp<int64_t>(p.panels / items, 1, p.block_panels);
  p.blocks = ceil_div(p.panels, p.block_panels);

  p.filters = WinogradFilters(form, shape.in_channels, kernels, packed ? 1 : p.block_panels);
  p.v_row = static_cast<size_t>(p.filters.block / per_slot);
  p.v_plane = pad_plane(p.v_row * static_cast<size_t>(p.chunk_tiles));
  p.v_block = p.v_plane * static_cast<size_t>(p.points);
  p.m_row = static_cast<size_t>(p.block_panels * columns);
  p.m_plane = pad_plane(p.m_row * static_cast<size_t>(p.chunk_tiles));
  return p;
}

}  // namespace omnirt::cpu
