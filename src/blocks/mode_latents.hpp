#pragma once
#include "blocks/autoencoder_tiles.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"

namespace omnirt::blocks {

// The latents of one image {1, 3, H, W} at the mode of what the encoder makes of it, scaled as
// denoisers take them, {1, C, h, w}: draws nothing.
Tensor mode_latents(Frame& frame, const Component<nn::Autoencoder>& vae, const TilingPorts& tiling,
                    const Tensor& pixels);

}  // namespace omnirt::blocks
