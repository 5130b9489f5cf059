#pragma once
#include <cstdint>
#include <vector>

namespace omnirt::blocks {

// A tile along one axis, and how much each of its pixels counts: 1 where no other tile reaches,
// falling along a line where two overlap. At each place all tiles' shares add up to 1.
struct AxisTile {
  int64_t begin = 0;          // pixels of the image
  std::vector<float> shares;  // of the result, `scale` for each pixel of the tile
};

// Tiles of `tile` pixels, each `overlap` over the one before; the last begins so that it ends with
// the image, and overlaps more. One tile of the whole length where that is no longer than a tile.
// `ensure`s sizes above 0 and an overlap below half of a tile.
std::vector<AxisTile> axis_tiles(int64_t length, int64_t tile, int64_t overlap, int64_t scale);

}  // namespace omnirt::blocks
