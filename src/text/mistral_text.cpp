#include "text/mistral_text.hpp"

#include "text/letter_case.hpp"
#include "text/qwen2_text.hpp"
#include "text/text_place.hpp"

namespace omnirt::text {
namespace {

constexpr std::string_view tekken_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view three_digit_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr size_t digits_of_a_word = 3;

// What may end a word of capitals and small letters.
bool ends_word(char32_t c) {
  LetterCase kind = letter_case(c);
  return kind == LetterCase::lower || kind == LetterCase::either;
}

bool begins_word(char32_t c) {
  LetterCase kind = letter_case(c);
  return kind == LetterCase::upper || kind == LetterCase::either;
}

// Capitals from `first` on, then small letters: where they end, and where the last character of the
// capitals ends that could be a small one; the begin where there is none.
struct Letters {
  size_t first;
  size_t capitals;  // the end of [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*
  size_t caseless;
  size_t all;
};

Letters letters_from(TextPlace at) {
  Letters found{at.pos, at.pos, at.pos, at.pos};
  for (; !at.ends() && begins_word(at.c); at = at.next()) {
    if (ends_word(at.c)) found.caseless = at.after;
  }
  found.capitals = at.pos;
  while (!at.ends() && ends_word(at.c)) at = at.next();
  found.all = at.pos;
  return found;
}

// The end of [capitals]*[small]+ , or of no match the begin.
size_t small_end(const Letters& letters) {
  return letters.all > letters.capitals ? letters.all : letters.caseless;
}

// The end of a word of letters at `at`, with one character of another kind before them; or `at`.
size_t letters_end(const TextPlace& at) {
  const bool may_lead = !is_newline(at.c) && !at.is(CharClass::letter) && !at.is(CharClass::number);
  const Letters behind = may_lead ? letters_from(at.next()) : Letters{};
  if (may_lead && small_end(behind) > behind.first) return small_end(behind);
  const Letters here = letters_from(at);
  if (small_end(here) > here.first) return small_end(here);
  if (may_lead && behind.all > behind.first) return behind.all;
  return here.all;
}

// The end of what is neither letter, number nor space, with the line ends and slashes after it.
size_t marks_end(const TextPlace& first) {
  TextPlace at = behind_run(first, CharClass::other);
  while (!at.ends() && (is_newline(at.c) || at.c == U'/')) at = at.next();
  return at.pos;
}

size_t tekken_end(const TextPlace& at) {
  if (size_t end = letters_end(at); end > at.pos) return end;
  if (at.is(CharClass::number)) return at.after;
  if (at.is(CharClass::other)) return marks_end(at);
  TextPlace next = at.next();
  return at.c == U' ' && next.is(CharClass::other) ? marks_end(next) : spaces_end(at);
}

}  // namespace

std::vector<std::string_view> tekken_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t pos = 0; pos < text.size();) {
    size_t end = tekken_end(TextPlace(text, pos));
    words.push_back(text.substr(pos, end - pos));
    pos = end;
  }
  return words;
}

std::vector<std::string_view> three_digit_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t digits = 0;  // of the last word
  for (std::string_view word : qwen2_words(text)) {
    if (!TextPlace(word, 0).is(CharClass::number)) {
      digits = 0;
    } else if (digits == 0 || digits == digits_of_a_word) {
      digits = 1;
    } else {
      words.back() = {words.back().data(), words.back().size() + word.size()};
      ++digits;
      continue;
    }
    words.push_back(word);
  }
  return words;
}

CutWords mistral_words(std::string_view pattern) {
  if (pattern == tekken_pattern) return tekken_words;
  return pattern == three_digit_pattern ? three_digit_words : nullptr;
}

}  // namespace omnirt::text
