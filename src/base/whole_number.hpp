#pragma once
#include <cstdint>
#include <limits>
#include <optional>

#include "base/json.hpp"

namespace omnirt {

// The whole number from `low` to `high` that a JSON value holds; nullopt for anything else. Parsed
// JSON stores 77 as an unsigned number and JSON built in code stores it as a signed one: both are
// accepted, and values beyond int64_t are refused instead of wrapping around.
std::optional<int64_t> whole_number(const Json& value,
                                    int64_t low = std::numeric_limits<int64_t>::min(),
                                    int64_t high = std::numeric_limits<int64_t>::max());

}  // namespace omnirt
