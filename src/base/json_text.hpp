#pragma once
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace omnirt {

// Of one object: it is searched from its front, so that many keys cost the square of their number.
inline constexpr size_t max_json_keys = 4096;

// Of texts that may be JSON or plain words, such as a flag's: the value where they are JSON, else
// the text itself. What is JSON but breaks a limit of parse_json throws as there.
Json parse_json_or_text(std::string_view text, const std::string& where);
// A number, true, false or null, as JSON spells them; else the text itself.
Json parse_scalar(std::string_view text);

}  // namespace omnirt
