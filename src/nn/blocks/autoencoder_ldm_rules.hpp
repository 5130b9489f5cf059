#pragma once
#include <vector>

#include "nn/blocks/autoencoder_decoder.hpp"
#include "nn/original_layout.hpp"

namespace omnirt::nn {

// The names of the layers of the two halves, "encoder" and "decoder", in the original autoencoder's
// files (CompVis latent-diffusion, ldm/modules/diffusionmodules/model.py): down and up levels, the
// latter numbered from the full resolution, attention by 1x1 convolutions.
std::vector<LayoutRule> ldm_autoencoder_rules(const AutoencoderEncoder& encoder,
                                              const AutoencoderDecoder& decoder);

}  // namespace omnirt::nn
