#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "networks/autoencoder_dc/config.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// The names of the original code (github mit-han-lab/efficientvit, dc_ae.py; diffusers
// single_file_utils.convert_autoencoder_dc_checkpoint_to_diffusers): what has something added to
// its result is below `main`, and queries, keys and values are one filter.
nn::OriginalLayout dc_autoencoder_layout(const AutoencoderDCConfig& config);

// The config.json of such a file, inferred from names and shapes, with the scale of Sana's latents;
// null for files of other classes. Throws Unsupported under `where` for the autoencoders whose
// finest level has no layers, which no Sana has.
Json dc_autoencoder_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                           const std::string& where);

}  // namespace omnirt
