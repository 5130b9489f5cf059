#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// What files of the original code put before each name, if anything.
inline const std::vector<std::string>& aura_flow_original_prefixes() {
  static const std::vector<std::string> prefixes{"", "model.diffusion_model.", "diffusion_model.",
                                                 "model."};
  return prefixes;
}

// The names of the original code, which GGUF files have too (diffusers
// single_file_utils.convert_auraflow_transformer_checkpoint_to_diffusers).
nn::OriginalLayout aura_flow_original_layout();

// The config.json of such a file, as inferred from names (without prefix) and shapes; null for
// files of other classes. Throws Unsupported under `where` for heads that no released model has.
Json aura_flow_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                               const std::string& where);

}  // namespace omnirt
