#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// What files of the original code put before each name, if anything.
inline const std::vector<std::string>& sd3_original_prefixes() {
  static const std::vector<std::string> prefixes{"", "model.diffusion_model.", "diffusion_model.",
                                                 "model."};
  return prefixes;
}

// The names of the original code (github Stability-AI/sd3.5, mmditx.py; diffusers
// single_file_utils.convert_sd3_transformer_checkpoint_to_diffusers): query, key and value in one
// matrix; of the last block's text and the last norm the shift before the scale.
nn::OriginalLayout sd3_original_layout(int64_t num_layers);

// The config.json of such a file, as names (without prefix) and shapes tell it; null for files of
// other classes. Throws Unsupported under `where` for heads that no released model has.
Json sd3_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                         const std::string& where);

}  // namespace omnirt
