#include "text/qwen2_text.hpp"

#include <array>

#include "io/utf8.hpp"
#include "text/text_place.hpp"

namespace omnirt::text {
namespace {

// What follows the apostrophe, in the order of the pattern's alternatives.
constexpr std::array<std::u32string_view, 7> contractions = {U"s", U"t",  U"re", U"ve",
                                                             U"m", U"ll", U"d"};

// The letter of the pattern that this one matches, without regard to case: of all others only the
// long s folds to one of them.
char32_t folded(char32_t c) {
  if (c >= U'A' && c <= U'Z') return c + 0x20;
  return c == U'\u017F' ? U's' : c;
}

// The end of a contraction whose apostrophe is at `at`, or its begin.
size_t contraction_end(const TextPlace& at) {
  if (at.ends() || at.c != U'\'') return at.pos;
  for (std::u32string_view contraction : contractions) {
    TextPlace letter = at.next();
    size_t same = 0;
    while (same < contraction.size() && !letter.ends() && folded(letter.c) == contraction[same]) {
      letter = letter.next();
      ++same;
    }
    if (same == contraction.size()) return letter.pos;
  }
  return at.pos;
}

// The end of punctuation and what else is neither letter, number nor space, with the line ends
// after it.
size_t others_end(const TextPlace& first) {
  TextPlace at = behind_run(first, CharClass::other);
  while (!at.ends() && is_newline(at.c)) at = at.next();
  return at.pos;
}

size_t word_end(const TextPlace& at) {
  if (size_t end = contraction_end(at); end > at.pos) return end;
  if (at.is(CharClass::letter)) return behind_run(at, CharClass::letter).pos;
  if (at.is(CharClass::number)) return at.after;
  TextPlace next = at.next();
  if (!is_newline(at.c) && next.is(CharClass::letter))
    return behind_run(next, CharClass::letter).pos;
  if (at.is(CharClass::other)) return others_end(at);
  return at.c == U' ' && next.is(CharClass::other) ? others_end(next) : spaces_end(at);
}

}  // namespace

std::string qwen2_normalize(std::string_view valid_utf8) {
  std::string result;
  result.reserve(valid_utf8.size());
  for (char32_t c : nfc(to_utf32(valid_utf8))) io::append_utf8(result, c);
  return result;
}

std::vector<std::string_view> qwen2_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t pos = 0; pos < text.size();) {
    size_t end = word_end(TextPlace(text, pos));
    words.push_back(text.substr(pos, end - pos));
    pos = end;
  }
  return words;
}

}  // namespace omnirt::text
