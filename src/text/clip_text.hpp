#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

// What CLIP's tokenizer does to text before it looks words up (transformers 5,
// models/clip/tokenization_clip.py): NFC, every run of white space to one space, lower case.
std::string clip_normalize(std::string_view valid_utf8);

// The words of normalized text, in order, as parts of it: contractions ('s 't 're 've 'm 'll 'd),
// runs of letters, single numbers, runs of what is neither. White space is left out.
// As the reference: its split pattern first, then the byte-level step's own pattern on each part.
std::vector<std::string_view> clip_words(std::string_view normalized);

}  // namespace omnirt::text
