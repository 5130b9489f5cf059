#pragma once
#include "nn/original_layout.hpp"

namespace omnirt {

class AutoencoderKL;

// The names of the original autoencoder (nn::ldm_autoencoder_rules); below "first_stage_model." in
// a checkpoint.
nn::OriginalLayout ldm_layout(const AutoencoderKL& vae);

}  // namespace omnirt
