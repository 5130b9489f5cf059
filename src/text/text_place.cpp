#include "text/text_place.hpp"

namespace omnirt::text {

TextPlace::TextPlace(std::string_view in, size_t at) : text(in), pos(at) {
  if (pos >= text.size()) return;
  c = next_codepoint(text, after);
  kind = char_class(c);
}

bool is_newline(char32_t c) {
  return c == U'\r' || c == U'\n';
}

TextPlace behind_run(TextPlace at, CharClass kind) {
  while (at.is(kind)) at = at.next();
  return at;
}

size_t spaces_end(const TextPlace& first) {
  size_t newline = 0, last = first.pos;
  TextPlace at = first;
  for (; at.is(CharClass::space); at = at.next()) {
    if (is_newline(at.c)) newline = at.after;
    last = at.pos;
  }
  if (newline > 0) return newline;
  return at.ends() || last == first.pos ? at.pos : last;
}

}  // namespace omnirt::text
