#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "networks/lumina2_transformer_2d_model/config.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// What files of the original code put before each name, if anything.
inline const std::vector<std::string>& lumina2_original_prefixes() {
  static const std::vector<std::string> prefixes{"", "model.diffusion_model.", "diffusion_model."};
  return prefixes;
}

// The names of the original code, which GGUF files have too (diffusers
// single_file_utils.convert_lumina2_to_diffusers): query, key and value in one matrix.
nn::OriginalLayout lumina2_original_layout(const Lumina2Transformer2DConfig& config);

// The config.json of such a file, as inferred from names (without prefix) and shapes; null for
// files of other classes. Throws Unsupported under `where` for heads that no released model has.
Json lumina2_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                             const std::string& where);

}  // namespace omnirt
