#pragma once

namespace omnirt::text {

// Which letters of a word a character may stand among: capitals (\p{Lu}, \p{Lt}), small ones
// (\p{Ll}), or both, as letters without case and marks do (\p{Lm}, \p{Lo}, \p{M}). By Unicode 16,
// whatever the library knows.
enum class LetterCase : unsigned char { none, upper, lower, either };

LetterCase letter_case(char32_t codepoint);

}  // namespace omnirt::text
