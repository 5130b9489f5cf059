#pragma once
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/memory_keys.hpp"

namespace omnirt::blocks {

// How an autoencoder goes through an image: whole, or by tiles that overlap and fade into each
// other (reference: enable_tiling of diffusers' autoencoders).
struct AutoencoderTiles {
  int64_t pixels = 0;  // a tile's side; 0: whole
  int64_t parts = 4;   // nn::Autoencoder::parts_of_tile

  // Whether it takes several for an image {B, C, H, W}.
  bool cut(const Tensor& image) const;
};

// The ports of a block that encodes or decodes.
struct TilingPorts {
  Config<bool> vae_tiling;
  Config<int64_t> vae_tile_size;

  explicit TilingPorts(Block* block)
      : vae_tiling(block, keys::vae_tiling), vae_tile_size(block, keys::vae_tile_size) {}
  AutoencoderTiles of(Frame& frame, const nn::Autoencoder& autoencoder) const;
  // `channels`: of the images that the block encodes or decodes.
  void check(Checks& checks, const Component<nn::Autoencoder>& vae, int64_t channels = 3) const;
};

// The results of `made` for the tiles of whole {B, C, H, W}, joined: tiles of `tile` per side (a
// multiple of `parts`) begin at all but one of its parts, and fade over the last one. `made` makes
// each side longer, or shorter, by one factor.
Tensor put_together(const Tensor& whole, int64_t tile, int64_t parts,
                    const std::function<Tensor(const Tensor& tile)>& made);

// {B, C, h, w} -> {B, 3, H, W}, and {B, 3, H, W} -> {B, n, h, w}, by tiles where either side is
// longer than one.
Tensor decoded_by_tiles(const Tensor& latents, const nn::Autoencoder& autoencoder,
                        const AutoencoderTiles& tiles,
                        const std::function<Tensor(const Tensor& latents)>& decode);
Tensor encoded_by_tiles(const Tensor& pixels, const AutoencoderTiles& tiles,
                        const std::function<Tensor(const Tensor& pixels)>& encode);

}  // namespace omnirt::blocks
