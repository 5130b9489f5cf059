#include "blocks/autoencoder_tiles.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>

namespace omnirt::blocks {
namespace {

// The last rows or columns of what precedes a tile, falling, and the tile's first ones, rising.
void fade(const Tensor& before, Tensor& tile, int64_t dim, int64_t over) {
  over = std::min({before.size(dim), tile.size(dim), over});
  std::vector<int64_t> shape(4, 1);
  shape[static_cast<size_t>(dim)] = over;
  Tensor share = (at::arange(over, at::kDouble) / static_cast<double>(over)).view(shape);
  Tensor first = tile.narrow(dim, 0, over);
  first.mul_(share.to(tile.scalar_type()))
      .add_(before.narrow(dim, before.size(dim) - over, over) *
            (1.0 - share).to(tile.scalar_type()));
}

Tensor kept(const Tensor& tile, int64_t keep) {
  return tile.narrow(2, 0, std::min(keep, tile.size(2))).narrow(3, 0, std::min(keep, tile.size(3)));
}

bool is_longer(const Tensor& image, int64_t tile) {
  return image.size(2) > tile || image.size(3) > tile;
}

}  // namespace

bool AutoencoderTiles::cut(const Tensor& image) const {
  return pixels > 0 && is_longer(image, pixels);
}

AutoencoderTiles TilingPorts::of(Frame& frame, const nn::Autoencoder& autoencoder) const {
  if (!frame.maybe(vae_tiling).value_or(false)) return {};
  auto given = frame.maybe(vae_tile_size);
  return {given ? *given : autoencoder.default_tile_size(), autoencoder.parts_of_tile()};
}

void TilingPorts::check(Checks& checks, const Component<nn::Autoencoder>& vae,
                        int64_t channels) const {
  const nn::Autoencoder& autoencoder = checks[vae];
  if (autoencoder.image_channels() != channels) {
    checks.error({fmt::format("components.{}", vae.name()),
                  std::to_string(autoencoder.image_channels()),
                  fmt::format("its images have as many channels; {} are wanted here", channels),
                  "use the autoencoder of the same model"});
  }
  const bool tiled = checks.maybe(vae_tiling).value_or(false);
  auto side = checks.maybe(vae_tile_size);
  if (tiled && !autoencoder.tile_size()) {
    checks.error({fmt::format("config.{}", vae_tiling.name()), "true",
                  fmt::format("{} is not gone through in tiles", autoencoder.class_name()),
                  "omit it"});
  }
  if (!tiled) {
    checks.unused(vae_tile_size, "has no effect without vae_tiling",
                  "set config.vae_tiling=true, or remove it");
  } else if (const int64_t grid = autoencoder.tile_grid(); side && *side % grid != 0) {
    checks.error({fmt::format("config.{}", vae_tile_size.name()), std::to_string(*side),
                  fmt::format("not a multiple of {} pixels, with which {}'s tiles begin at whole "
                              "latents",
                              grid, autoencoder.class_name()),
                  fmt::format("give {}", std::max(grid, *side / grid * grid))});
  }
}

Tensor put_together(const Tensor& whole, int64_t tile, int64_t parts,
                    const std::function<Tensor(const Tensor& tile)>& made) {
  const int64_t stride = tile - tile / parts;
  std::vector<Tensor> rows, above;
  for (int64_t y = 0; y < whole.size(2); y += stride) {
    std::vector<Tensor> row, pieces;
    Tensor strip = whole.narrow(2, y, std::min(tile, whole.size(2) - y));
    for (int64_t x = 0; x < whole.size(3); x += stride) {
      Tensor of = strip.narrow(3, x, std::min(tile, whole.size(3) - x)).contiguous();
      Tensor part = made(of);
      auto as_made = [&](int64_t size) { return size * part.size(2) / of.size(2); };
      if (!above.empty()) fade(above[row.size()], part, 2, as_made(tile - stride));
      if (!row.empty()) fade(row.back(), part, 3, as_made(tile - stride));
      pieces.push_back(kept(part, as_made(stride)));
      row.push_back(std::move(part));
    }
    rows.push_back(at::cat(pieces, 3));
    above = std::move(row);
  }
  return at::cat(rows, 2);
}

Tensor decoded_by_tiles(const Tensor& latents, const nn::Autoencoder& autoencoder,
                        const AutoencoderTiles& tiles,
                        const std::function<Tensor(const Tensor& latents)>& decode) {
  const int64_t tile = tiles.pixels / autoencoder.factors().side;
  return tile > 0 && is_longer(latents, tile) ? put_together(latents, tile, tiles.parts, decode)
                                              : decode(latents);
}

Tensor encoded_by_tiles(const Tensor& pixels, const AutoencoderTiles& tiles,
                        const std::function<Tensor(const Tensor& pixels)>& encode) {
  return tiles.cut(pixels) ? put_together(pixels, tiles.pixels, tiles.parts, encode)
                           : encode(pixels);
}

}  // namespace omnirt::blocks
