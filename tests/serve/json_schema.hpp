#pragma once
#include <string>
#include <vector>

#include "base/json.hpp"

namespace omnirt::serve {

// What of `value` breaks `schema`, a line each: the part of JSON Schema 2020-12 that /openapi.json
// uses. A keyword that is not known here is a line, too. References are into `document`.
std::vector<std::string> schema_errors(const Json& value, const Json& schema, const Json& document,
                                       const std::string& where = "$");
// What `#/components/schemas/Job` and the like mean; null where there is nothing.
Json at_reference(const Json& document, const std::string& reference);

}  // namespace omnirt::serve
