#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "request/request.hpp"

namespace omnirt {

// The most that a request may take as JSON.
inline constexpr size_t max_request_bytes = size_t{4} << 20;

// Reads a request from the text of its JSON form; `where` names it in errors. Throws InvalidRequest
// with every finding.
GenerateRequest parse_request_text(std::string_view json, const std::string& where);

}  // namespace omnirt
