#pragma once
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace omnirt {

// Parses the text of a scheduler_config.json. As the reference writes it, it can hold -Infinity
// (lambda_min_clipped), Infinity and NaN, which are not JSON: they are read as null, which stands
// for the same there. Throws InvalidFile as parse_json does.
Json parse_scheduler_config(std::string_view text, const std::string& where);

}  // namespace omnirt
