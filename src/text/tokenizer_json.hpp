#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.hpp"
#include "text/bpe.hpp"
#include "text/vocabulary.hpp"

namespace omnirt::text {

// What a tokenizer is made of, from either kind of file.
struct BpeFiles {
  Vocabulary vocabulary;
  Merges merges;
  std::string vocabulary_file, merges_file;  // where they came from, for errors
  std::vector<AddedToken> added_tokens;      // tokenizer.json only; each with its id
};

// A vocab.json: one object, token -> id. `where` names the file in errors.
// Throws InvalidFile when it is malformed, or holds anything but distinct tokens with distinct ids.
Vocabulary parse_vocab_json(std::string_view text, const std::string& where);

// A merges.txt: a line each, two tokens with a space between; lines that begin with #version are
// left out.
Merges parse_merges_txt(std::string_view text, const std::string& where);

// The model and added tokens of a tokenizer.json (Hugging Face's tokenizers). What it says of
// normalizer, splitting and post-processing is skipped: for CLIP and Qwen2 the reference does
// so too, whose classes bring their own. Throws InvalidFile when it is malformed, Unsupported when
// its model is not BPE.
BpeFiles parse_tokenizer_json(std::string_view text, const std::string& where);

}  // namespace omnirt::text
