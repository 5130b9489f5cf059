#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// What files of the original code put before each name, if anything.
inline const std::vector<std::string>& z_image_original_prefixes() {
  static const std::vector<std::string> prefixes{"", "model.diffusion_model.", "diffusion_model.",
                                                 "model."};
  return prefixes;
}

// The names of the original code, which GGUF files have too (diffusers
// single_file_utils.convert_z_image_transformer_checkpoint_to_diffusers): query, key and value in
// one matrix. `omni`: with the parts that look at images.
nn::OriginalLayout z_image_original_layout(bool omni);

// The config.json of such a file, as inferred from names (without prefix) and shapes; null for
// files of other classes. Throws Unsupported under `where` for heads that no released model has.
Json z_image_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                             const std::string& where);

}  // namespace omnirt
