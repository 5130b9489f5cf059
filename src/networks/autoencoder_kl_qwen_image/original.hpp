#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "networks/autoencoder_kl_qwen_image/config.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// The names of the original code (github Wan-Video/Wan2.1, wan/modules/vae.py; diffusers
// single_file_utils.convert_wan_vae_to_diffusers), which single files of Qwen-Image's have too: the
// decoder's resnets and upsamplers are one list.
nn::OriginalLayout wan_autoencoder_layout(const AutoencoderKLQwenImageConfig& config);

// The config.json of such a file, inferred from names and shapes, with the means and spreads of the
// released latents; null for files of other classes.
Json wan_autoencoder_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                            const std::string& where);

}  // namespace omnirt
