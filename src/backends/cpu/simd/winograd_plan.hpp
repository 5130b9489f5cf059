#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/winograd.hpp"
#include "backends/cpu/simd/winograd_kernels.hpp"

namespace omnirt::cpu {

// How transformed filters are laid out: [block of input channels][panel of output
// channels][point][channel of the block][column of the panel]. `panels` share a block. The cut
// changes no bit of the result: the products continue where the block before ended.
struct WinogradFilters {
  WinogradFilters() = default;
  WinogradFilters(ConvChoice form, int64_t in_channels, const WinogradKernels& kernels,
                  int64_t panels);
  int64_t block = 0, blocks = 0;
  size_t plane = 0, panel_floats = 0;  // floats of one point of a panel, of all its points
};

// How a Winograd convolution is cut up. The products' sums (m) and the panels of filters (u) of one
// block stay in the second-level cache; the transformed tiles (v) of a chunk are read once for each
// block of output channels.
struct WinogradPlan {
  WinogradGrid grid{};
  int64_t points = 0;  // 36 or 16

  WinogradFilters filters;
  int64_t chunk_tiles = 0, chunks = 0;
  int64_t panels = 0, block_panels = 0, blocks = 0;  // of output channels

  size_t v_row = 0, v_plane = 0,
         v_block = 0;  // one tile, one point, all points of one channel block
  size_t m_row = 0, m_plane = 0;
  bool fused = false;  // a thread takes a chunk through all phases; else each phase is shared

  size_t v_floats() const { return v_block * static_cast<size_t>(filters.blocks); }
  size_t m_floats() const { return m_plane * static_cast<size_t>(points); }
  size_t u_floats() const { return filters.panel_floats * static_cast<size_t>(block_panels); }
};

size_t packed_winograd_floats(ConvChoice form, int64_t in_channels, int64_t out_channels,
                              const WinogradKernels& kernels);

WinogradPlan plan_winograd(ConvChoice form, const WinogradShape& shape,
                           const WinogradKernels& kernels, int threads, bool packed);

}  // namespace omnirt::cpu
