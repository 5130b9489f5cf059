#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/winograd.hpp"

// The parts of a Winograd convolution that are compiled once per SIMD target. Only the driver
// (winograd.cpp), the tests and the target file itself include this.
namespace omnirt::cpu {

// Where a tile is: tiles are numbered through the batch, row by row.
struct WinogradGrid {
  const WinogradShape* shape;
  int64_t tile;                     // outputs per side: 4 or 2
  int64_t tile_rows, tile_columns;  // of one sample
  int64_t tiles() const { return shape->batch * tile_rows * tile_columns; }
};

// Strides count floats; with bf16 a float's room holds two channels.

// A run of tiles to be transformed, all input channels.
struct GatherTask {
  const WinogradGrid* grid;
  ConvInput x;
  int64_t first_tile, tiles;
  int64_t channel_block;  // multiple of 16 per_slot
  float* v;  // [channel block][point][tile of the chunk][channel of the block], first tile's row
  size_t row_stride, plane_stride, block_stride;
};

// Filters of one panel of output channels: u[point][channel][panel_columns]; channels of the panel
// past the last output channel become zero.
struct FilterTask {
  ConvWeights weights;
  int64_t in_channels;
  int64_t first_out, outs;  // outs <= panel_columns
  int64_t first_channel, channels;
  float* u;
  size_t plane_stride;
};

// Output transform and epilogue of a run of tiles and output channels.
struct ScatterTask {
  const WinogradGrid* grid;
  ConvEpilogue epilogue;
  float* y;
  ConvStrides y_strides;
  int64_t first_tile, tiles;
  int64_t first_out, outs;
  const float* m;
  size_t m_row_stride, m_plane_stride;
  float* bias;  // room for the outs' bias, whole panels
};

// Rows of memory that the next step will read.
struct AheadRows {
  const uint8_t* first;
  size_t rows, stride, bytes;  // no rows: nothing
};

// m[point][tile][column] (+)= v[point][tile][channel] * u[panel][point][channel][column].
struct ProductTask {
  int64_t tiles, panels, channels;
  const float* v;
  size_t v_row_stride, v_plane_stride;
  const float* u;
  size_t u_panel_stride, u_plane_stride;
  float* m;
  size_t m_row_stride, m_plane_stride;
  bool accumulate;
  // Fetched towards the cache meanwhile, a little with each product.
  AheadRows next_filters;
  const ScatterTask* next_outputs;  // or null
};

// One form (F4 or F2) on one target.
struct WinogradKernels {
  size_t panel_columns;  // output channels of one packed panel
  size_t per_slot;       // channels in the room of a float of u and v: 1, or two bf16
  size_t rows;           // tiles that the product keeps in registers at once
  void (*gather)(const GatherTask&);
  void (*filter)(const FilterTask&);
  void (*product)(const ProductTask&);
  void (*scatter)(const ScatterTask&);
};

// Of the best target that this machine (or the test) allows; in fp32 where it has no products of
// bf16.
WinogradKernels winograd_kernels(ConvChoice form);

}  // namespace omnirt::cpu
