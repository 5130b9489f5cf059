#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// What files of the original code put before each name, if anything.
inline const std::vector<std::string>& flux_original_prefixes() {
  static const std::vector<std::string> prefixes{"", "model.diffusion_model.", "diffusion_model.",
                                                 "model."};
  return prefixes;
}

// The names of the original code (github black-forest-labs/flux, src/flux/model.py; diffusers
// single_file_utils.convert_flux_transformer_checkpoint_to_diffusers): query, key and value in one
// matrix, with the perceptron's first in the last blocks; the last norm's shift before its scale.
nn::OriginalLayout flux_original_layout();

// The names of XLabs' LoRAs, of attention alone (diffusers
// lora_conversion_utils._convert_xlabs_flux_lora_to_diffusers).
nn::OriginalLayout flux_xlabs_layout();

// The config.json of such a file, inferred from names (without prefix) and shapes; null for files
// of other classes. Throws Unsupported under `where` for heads that no released model has.
Json flux_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                          const std::string& where);

}  // namespace omnirt
