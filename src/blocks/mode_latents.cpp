#include "blocks/mode_latents.hpp"

#include <ATen/ops/zeros.h>

#include "blocks/latents.hpp"

namespace omnirt::blocks {

Tensor mode_latents(Frame& frame, const Component<nn::Autoencoder>& vae, const TilingPorts& tiling,
                    const Tensor& pixels) {
  const Tensor no_noise =
      at::zeros(latent_shape(frame[vae], 1, pixels.size(3), pixels.size(2)), at::kFloat);
  return encoded_image(frame, vae, tiling, pixels, no_noise);
}

}  // namespace omnirt::blocks
