#pragma once
#include <string>
#include <string_view>

namespace omnirt {

// The length of the well-formed UTF-8 sequence that starts at byte `i` (RFC 3629: no overlong
// forms, surrogates, or code points past U+10FFFF); 0 where none does.
size_t utf8_length(std::string_view text, size_t i);

// A text from outside as one line of a terminal may show it: control characters (C0, DEL and C1),
// the controls of bidirectional text and bytes that are not UTF-8 as '?', line ends as spaces.
std::string printable(std::string_view text);

// The same for a text whose lines are this program's: line ends and tabs stay.
std::string printable_lines(std::string_view text);

// JSON as a terminal may show it: what JSON itself leaves as it is (DEL, C1, bidirectional
// controls) as \u escapes, which read the same. `text` is valid JSON in UTF-8.
std::string printable_json(std::string_view text);

}  // namespace omnirt
