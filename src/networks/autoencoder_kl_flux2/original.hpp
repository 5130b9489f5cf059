#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

class AutoencoderKLFlux2;

// The names of the original code (github black-forest-labs/flux2, src/flux2/autoencoder.py): those
// of latent-diffusion, the convolutions around the latents in the halves.
nn::OriginalLayout flux2_autoencoder_layout(const AutoencoderKLFlux2& vae);

// The config.json of such a file, inferred from names and shapes; null for files of other classes.
// Throws Unsupported under `where` for levels that are no groups of 32 channels or too many.
Json flux2_autoencoder_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                              const std::string& where);

}  // namespace omnirt
