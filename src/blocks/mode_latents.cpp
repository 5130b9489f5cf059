#include "blocks/mode_latents.hpp"

#include <ATen/ops/zeros.h>

#include "blocks/latents.hpp"

namespace omnirt::blocks {

Tensor mode_latents(Frame& frame, const Component<nn::Autoencoder>& vae, const TilingPorts& tiling,
                    const Tensor& pixels) {
  const auto of = nn::LatentGrid::of(pixels);
  const Tensor no_noise = at::zeros(frame[vae].grid(of.width, of.height).images(), at::kFloat);
  return encoded_image(frame, vae, tiling, pixels, no_noise);
}

}  // namespace omnirt::blocks
