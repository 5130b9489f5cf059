#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// What files of the original code put before each name, if anything.
inline const std::vector<std::string>& flux3_original_prefixes() {
  static const std::vector<std::string> prefixes{"", "model.diffusion_model.", "diffusion_model.",
                                                 "model."};
  return prefixes;
}

// The names of the original code (diffusers
// single_file_utils.convert_flux3_transformer_checkpoint_to_diffusers): the last norm's shift
// before its scale.
nn::OriginalLayout flux3_original_layout();

// The config.json of such a file, inferred from names (without prefix) and shapes; null for files
// of other classes. Throws Unsupported under `where` for heads that no released model has.
Json flux3_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                           const std::string& where);

}  // namespace omnirt
