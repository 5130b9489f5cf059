#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace omnirt::serve {

// RFC 4648, with padding, in one line.
std::string base64_of(std::string_view bytes);
// Nothing for a text that is not base64: other characters, a wrong length, bits behind the end.
// Padding may be missing, and line ends may stand anywhere.
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace omnirt::serve
