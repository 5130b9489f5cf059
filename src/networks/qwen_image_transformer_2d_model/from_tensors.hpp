#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace omnirt {

// The config.json of a transformer that is published as one file (its names are the reference's),
// as inferred from names and shapes; null for files of other classes. Throws Unsupported under
// `where` for heads that no released model has.
Json qwen_image_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& shapes,
                                    const std::string& where);

}  // namespace omnirt
