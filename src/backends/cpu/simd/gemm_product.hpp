#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/gemm.hpp"

// What gemm and conv_direct share: a product whose left side is read from rows or gathered from
// patches of an image. Internal to the two.
namespace omnirt::cpu {

// The inner index runs over blocks of channels, in a block over taps (places of the kernel's
// window; 1 for a matrix), in a tap over the block's channels: so a patch is gathered in contiguous
// runs of channels, and weights [out][channel][tap] are read in contiguous runs as well.
struct InnerBlocks {
  int64_t channels = 0, taps = 1;
  int64_t step = 0;  // channels in a block
  // At least one: an empty product is zeros, not nothing.
  int64_t count() const { return std::max<int64_t>(1, (channels + step - 1) / step); }
  int64_t first(int64_t block) const { return block * step; }
  int64_t size(int64_t block) const { return std::min(step, channels - block * step); }
  int64_t longest() const { return std::min(step, channels) * taps; }
};

// Gathers the channels [first, first + count) of all taps of rows [row, row + rows) of the left
// side: out[r * out_stride + tap * count + c].
struct PatchSource {
  void (*gather)(const void* self, int64_t row, int64_t rows, int64_t first, int64_t count,
                 float* out, int64_t out_stride);
  const void* self = nullptr;
};

struct Product {
  int64_t m = 0, n = 0;
  InnerBlocks inner;
  const float* x = nullptr;  // rows, or:
  int64_t x_stride = 0;
  const PatchSource* patches = nullptr;
  WeightView weight;              // rows of [channels][taps], or:
  const float* packed = nullptr;  // what pack_rows made of them
  float* y = nullptr;
  int64_t y_stride = 0;
  Epilogue epilogue;
};

// Sizes of the first and second level data cache of a core, in bytes; defaults where the system
// does not say.
struct CacheSizes {
  size_t l1, l2;
};
const CacheSizes& cache_sizes();

InnerBlocks inner_blocks(int64_t channels, int64_t taps);

// By the best SIMD target of the machine: the product; the columns of a packed panel for n rows of
// weights; all panels of the rows [row, row + n).
void run_product(const Product& product);
int64_t width_of_packed(int64_t n);
void pack_panels(const WeightView& weight, int64_t row, int64_t n, const InnerBlocks& inner,
                 float* panels);

// Packs rows of [columns / taps][taps].
PackedMatrix pack_rows(const WeightView& weight, bool geglu, int64_t taps);

// How a product is cut: pieces of work of `units` panels (pairs of panels with geglu) x `rows`.
struct ProductPlan {
  int64_t units = 0;        // panels (pairs) in all
  int64_t unit_pieces = 1;  // pieces along n
  int64_t row_pieces = 1;   // pieces along m
  int64_t items() const { return unit_pieces * row_pieces; }
  int64_t widest() const { return (units + unit_pieces - 1) / unit_pieces; }
  int64_t tallest(int64_t m) const { return (m + row_pieces - 1) / row_pieces; }
};
ProductPlan plan_product(const Product& product, int64_t panel_columns, int64_t tile_rows,
                         int threads);

}  // namespace omnirt::cpu
