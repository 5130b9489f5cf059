#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.hpp"
#include "text/unigram.hpp"

namespace omnirt::text {

// What a unigram tokenizer is made of, from either kind of file.
struct UnigramFiles {
  std::vector<UnigramPiece> pieces;
  std::string charsmap;                  // the normalizer's replacements; empty: none
  std::vector<AddedToken> added_tokens;  // found in the text as they are
};

// A tokenizer.json (Hugging Face's tokenizers) with a Unigram model. What it says of splitting and
// post-processing is skipped: for T5 the reference does so too. `where` names the file in
// errors. Throws InvalidFile when it is malformed, Unsupported when its model is another.
UnigramFiles parse_unigram_json(std::string_view text, const std::string& where);

// A sentencepiece model (google/sentencepiece, sentencepiece_model.proto), such as spiece.model.
// Throws as above.
UnigramFiles parse_sentencepiece(std::string_view bytes, const std::string& where);

}  // namespace omnirt::text
