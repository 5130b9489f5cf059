#pragma once
#include <string_view>

namespace omnirt::text {

// Throws InvalidRequest, naming `field`, when `text` is not UTF-8 (with the byte's offset) or
// larger than max_prompt_bytes.
void check_prompt(std::string_view text, std::string_view field);

// Without the white space at its ends. `text` is valid UTF-8.
std::string_view without_space(std::string_view text);

}  // namespace omnirt::text
