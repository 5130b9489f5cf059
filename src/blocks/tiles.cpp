#include "blocks/tiles.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace omnirt::blocks {
namespace {

// How near a pixel of a tile is to the edges that it shares with others, 1 beyond the overlap.
double nearness(int64_t at, int64_t size, int64_t ramp, bool first, bool last) {
  auto share = [&](int64_t from_edge) {
    return std::min(1.0, static_cast<double>(from_edge + 1) / static_cast<double>(ramp + 1));
  };
  double from_start = first ? 1.0 : share(at), from_end = last ? 1.0 : share(size - 1 - at);
  return std::min(from_start, from_end);
}

}  // namespace

std::vector<AxisTile> axis_tiles(int64_t length, int64_t tile, int64_t overlap, int64_t scale) {
  ensure(length > 0 && tile > 0 && scale > 0 && overlap >= 0 && 2 * overlap < tile,
         "tiles of {} pixels that overlap by {} over {}, {} times as large", tile, overlap, length,
         scale);
  std::vector<AxisTile> tiles;
  const int64_t size = std::min(tile, length), stride = tile - overlap;
  const int64_t count = length <= tile ? 1 : (length - overlap + stride - 1) / stride;
  std::vector<double> sums(static_cast<size_t>(length * scale), 0.0);
  auto each = [&](auto&& at_place) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t begin = std::min(i * stride, length - size);
      for (int64_t p = 0; p < size * scale; ++p) {
        double near = nearness(p, size * scale, overlap * scale, i == 0, i + 1 == count);
        at_place(static_cast<size_t>(i), begin, p, near,
                 sums[static_cast<size_t>(begin * scale + p)]);
      }
    }
  };
  each([](size_t, int64_t, int64_t, double near, double& sum) { sum += near; });
  tiles.resize(static_cast<size_t>(count));
  each([&](size_t i, int64_t begin, int64_t, double near, const double& sum) {
    tiles[i].begin = begin;
    tiles[i].shares.push_back(static_cast<float>(near / sum));
  });
  return tiles;
}

}  // namespace omnirt::blocks
