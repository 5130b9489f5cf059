#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

// The names of the original code (github lodestone-rock/flow, src/models/chroma; diffusers
// single_file_utils.convert_chroma_transformer_checkpoint_to_diffusers): FLUX.1's without
// modulations, and those of the network that makes them.
nn::OriginalLayout chroma_original_layout();

// The config.json of such a file, inferred from names (without prefix) and shapes; null for files
// of other classes. Throws Unsupported under `where` for heads that no released model has.
Json chroma_original_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                            const std::string& where);

}  // namespace omnirt
