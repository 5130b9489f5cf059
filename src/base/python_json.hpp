#pragma once
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace omnirt {

// Parses a config as Python's json module writes it, which knows -Infinity (lambda_min_clipped of
// schedulers), Infinity and NaN: they are read as null, which means the same there. Throws
// InvalidFile as parse_json does.
Json parse_python_json(std::string_view text, const std::string& where,
                       size_t max_bytes = max_json_bytes);

}  // namespace omnirt
