#pragma once
#include <string_view>

#include "text/unicode.hpp"

// What the patterns have in common by which byte-level tokenizers cut text into words.
namespace omnirt::text {

// A place in the text and the character there; class `other` and no size at the end.
struct TextPlace {
  std::string_view text;
  size_t pos;
  size_t after = pos;
  char32_t c = 0;
  CharClass kind = CharClass::other;

  TextPlace(std::string_view in, size_t at);
  bool ends() const { return pos >= text.size(); }
  bool is(CharClass wanted) const { return !ends() && kind == wanted; }
  TextPlace next() const { return {text, after}; }
};

bool is_newline(char32_t c);

TextPlace behind_run(TextPlace at, CharClass kind);

// Of white space, \s*[\r\n]+ | \s+(?!\S) | \s+: to its last line end; without one, all of it at the
// text's end, and else all but the last character, which belongs to what follows.
size_t spaces_end(const TextPlace& first);

}  // namespace omnirt::text
