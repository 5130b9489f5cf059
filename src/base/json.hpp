#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace omnirt {

// Keeps the order in which keys were written, so that files and reports read as they were declared.
using Json = nlohmann::ordered_json;

inline constexpr size_t max_json_depth = 64;
inline constexpr size_t max_json_bytes = size_t{64} << 20;

// Parses JSON from outside. `where` (a file or "request") names it in errors.
// Throws InvalidFile when it is malformed, not UTF-8, nested deeper than max_json_depth, larger
// than `max_bytes`, or holds a key twice.
Json parse_json(std::string_view text, const std::string& where, size_t max_bytes = max_json_bytes);

// A short rendering of a value for an error message.
std::string shown(const Json& value);

}  // namespace omnirt
