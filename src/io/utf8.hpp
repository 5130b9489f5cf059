#pragma once
#include <string>
#include <string_view>

namespace omnirt::io {

// Where the first byte is that is not UTF-8 (RFC 3629: no overlong forms, surrogates, or code
// points past U+10FFFF); npos when all is.
size_t find_invalid_utf8(std::string_view text);

// Appends a code point. It must be at most U+10FFFF and no surrogate.
void append_utf8(std::string& text, char32_t code_point);

// A name from a file as an error message may show it: in single quotes, printable
// (base/printable.hpp), at most 100 bytes.
std::string shown_name(std::string_view name);

}  // namespace omnirt::io
