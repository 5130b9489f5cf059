#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

// The text in normalisation form C.
std::string qwen2_normalize(std::string_view valid_utf8);

// Cuts normalised text into the words that are encoded each by itself; all of the text, in order.
// The reference's pattern (transformers models/qwen2/tokenization_qwen2.py, PRETOKENIZE_REGEX):
//   (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N} |
//   ` ?`[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
// the first alternative that fits counts.
std::vector<std::string_view> qwen2_words(std::string_view normalized);

}  // namespace omnirt::text
