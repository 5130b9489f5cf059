#pragma once
#include "nn/original_layout.hpp"

namespace omnirt {

class AutoencoderKL;

// The names of the original autoencoder (CompVis latent-diffusion, ldm/modules/diffusionmodules/
// model.py): down and up levels, the latter numbered from the full resolution, attention by 1x1
// convolutions; below "first_stage_model." in a checkpoint.
nn::OriginalLayout ldm_layout(const AutoencoderKL& vae);

}  // namespace omnirt
