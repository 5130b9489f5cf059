#include "text/clip_text.hpp"

#include <algorithm>
#include <array>

#include "io/utf8.hpp"
#include "text/unicode.hpp"

namespace omnirt::text {
namespace {

// In the order of the pattern's alternatives.
constexpr std::array<std::string_view, 7> contractions = {"'s", "'t",  "'re", "'ve",
                                                          "'m", "'ll", "'d"};
// The pattern has these two whatever the folder's own special tokens are called. They reach it only
// when the text was not taken for a special token before, as in another case: <|EndOfText|>.
constexpr std::array<std::string_view, 2> literals = {"startoftext", "endoftext"};

// The size of a literal <|...|> at the front of `text`, or 0.
size_t literal_size(std::string_view text) {
  if (!text.starts_with("<|")) return 0;
  for (std::string_view literal : literals) {
    std::string_view rest = text.substr(2);
    if (rest.starts_with(literal) && rest.substr(literal.size()).starts_with("|>")) {
      return literal.size() + 4;
    }
  }
  return 0;
}

size_t contraction_size(std::string_view text) {
  if (!text.starts_with('\'')) return 0;
  for (std::string_view contraction : contractions) {
    if (text.starts_with(contraction)) return contraction.size();
  }
  return 0;
}

// The size of the run of one class at the front of `text`; a number is a run of one.
size_t run_size(std::string_view text, CharClass& found) {
  size_t pos = 0;
  found = char_class(next_codepoint(text, pos));
  if (found == CharClass::number) return pos;
  while (pos < text.size()) {
    size_t next = pos;
    if (char_class(next_codepoint(text, next)) != found) break;
    pos = next;
  }
  return pos;
}

}  // namespace

std::string clip_normalize(std::string_view valid_utf8) {
  std::u32string lowered;
  bool after_space = false;
  std::u32string composed = nfc(to_utf32(valid_utf8));
  lowered.reserve(composed.size());
  for (char32_t c : composed) {
    bool space = char_class(c) == CharClass::space;
    if (space) {
      if (!after_space) lowered += U' ';
    } else {
      append_lower(lowered, c);
    }
    after_space = space;
  }
  std::string result;
  result.reserve(valid_utf8.size());
  for (char32_t c : lowered) io::append_utf8(result, c);
  return result;
}

std::vector<std::string_view> clip_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t pos = 0;
  auto take = [&](size_t size) {
    words.push_back(text.substr(pos, size));
    pos += size;
  };
  while (pos < text.size()) {
    std::string_view rest = text.substr(pos);
    if (size_t size = literal_size(rest)) {
      // The byte-level step's pattern takes it apart again.
      take(2);
      take(size - 4);
      take(2);
    } else if (size_t contraction = contraction_size(rest)) {
      take(contraction);
    } else {
      CharClass found;
      size_t run = run_size(rest, found);
      if (found == CharClass::space) {
        pos += run;
      } else {
        take(run);
      }
    }
  }
  return words;
}

}  // namespace omnirt::text
