#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// What files of the original code put before each name, if anything.
inline const std::vector<std::string>& sana_original_prefixes() {
  static const std::vector<std::string> prefixes{"", "model.diffusion_model.", "diffusion_model."};
  return prefixes;
}

// The names of the original code (github NVlabs/Sana; diffusers
// single_file_utils.convert_sana_transformer_to_diffusers, and of Sana-Sprint's guidance scale
// scripts/convert_sana_to_diffusers.py): query, key and value in one matrix, of attention to the
// text key and value.
nn::OriginalLayout sana_original_layout();

// The config.json of such a file, as inferred from names (without prefix) and shapes; null for
// files of other classes. Throws Unsupported under `where` for widths that no released model has.
Json sana_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                          const std::string& where);

}  // namespace omnirt
