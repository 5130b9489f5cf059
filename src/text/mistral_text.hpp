#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

// Cuts text into the words that are encoded each by itself; all of it, in order.
using CutWords = std::vector<std::string_view> (*)(std::string_view text);

// By the pattern of Mistral's "tekken" vocabularies; the first alternative that fits counts:
//   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ |
//   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]* | \p{N} |
//   ` ?`[^\s\p{L}\p{N}]+[\r\n/]* | \s*[\r\n]+ | \s+(?!\S) | \s+
std::vector<std::string_view> tekken_words(std::string_view text);

// By the pattern that transformers gave converted tekken vocabularies before it was corrected, and
// which published folders have: qwen2_words with up to three numbers in a word.
std::vector<std::string_view> three_digit_words(std::string_view text);

// Of the pattern that a tokenizer.json names; null where it is neither.
CutWords mistral_words(std::string_view pattern);

}  // namespace omnirt::text
