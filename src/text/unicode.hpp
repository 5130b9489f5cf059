#pragma once
#include <string>
#include <string_view>

namespace omnirt::text {

// The code point at `pos` of valid UTF-8; moves `pos` past it.
char32_t next_codepoint(std::string_view text, size_t& pos);

std::u32string to_utf32(std::string_view valid_utf8);

// Bytes as text, with U+FFFD for each maximal ill-formed part (as the WHATWG and Rust do).
std::string lossy_utf8(std::string_view bytes);

enum class CharClass : unsigned char { other, letter, number, space };

// letter is \p{L}, number is \p{N}, space is \s of Unicode 16.
CharClass char_class(char32_t codepoint);

// Unicode's full lower-case mapping of one character, without context (so no final sigma).
void append_lower(std::u32string& text, char32_t codepoint);

// Normalization form C by Unicode 9's tables; see unicode_pins.hpp. O(n log n) for any input.
std::u32string nfc(std::u32string text);

}  // namespace omnirt::text
