#pragma once
#include <optional>
#include <string_view>

#include "base/json.hpp"

namespace omnirt::serve {

// A value as webui reads it into a field of a type of JSON: 20.0 and "20" are integers, "7.5" is a
// number, 1 and "true" are booleans, and numbers are texts. Nothing where it is none. "any" is all.
std::optional<Json> webui_value(const Json& value, std::string_view type);

// Null, false, 0, -1 or empty: what clients send for "nothing".
bool is_nothing(const Json& value);

}  // namespace omnirt::serve
