#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// What files of the original code put before each name, if anything.
inline const std::vector<std::string>& krea2_original_prefixes() {
  static const std::vector<std::string> prefixes{"", "model.diffusion_model.", "diffusion_model."};
  return prefixes;
}

// How the original code names the transformer's layers (github krea-ai/krea-2; diffusers
// single_file_utils.convert_krea2_transformer_checkpoint_to_diffusers), and adapters of ComfyUI and
// ai-toolkit do (lora_conversion_utils._convert_non_diffusers_krea2_lora_to_diffusers). Some
// repacked files hold two matrices more of the last layer's, which no code takes.
nn::OriginalLayout krea2_original_layout();

// The config.json of such a file, inferred from names (without prefix) and shapes; null for files
// of other classes. Throws Unsupported under `where` for heads whose axes the original code does
// not tell.
Json krea2_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                           const std::string& where);

}  // namespace omnirt
