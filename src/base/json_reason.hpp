#pragma once
#include <string>
#include <string_view>

namespace omnirt {

// What an exception of the JSON library says (its what()), without its own names of exceptions and
// grammar rules: "line 1, column 2: invalid literal", "key 'x' not found".
std::string json_reason(std::string_view what);

}  // namespace omnirt
