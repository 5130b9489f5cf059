#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.hpp"
#include "text/bpe.hpp"
#include "text/vocabulary.hpp"

namespace omnirt::text {

// How a tokenizer.json has text normalised and cut into words before the merges take them.
struct TextSteps {
  std::vector<std::string> patterns;  // of "Split"
  std::vector<std::string> kinds;     // of the normaliser and the steps that cut: "Split"
  std::vector<std::string> set;       // settings of theirs that are true: "add_prefix_space"
  bool whole_words = false;           // ignore_merges: a word that is a token is not merged
};

// The tokens that a tokenizer.json puts around each text (of its "TemplateProcessing").
struct TextFrame {
  std::vector<std::string> before, after;
};

// What a tokenizer is made of, from either kind of file.
struct BpeFiles {
  Vocabulary vocabulary;
  Merges merges;
  std::string vocabulary_file, merges_file;  // where they came from, for errors
  std::vector<AddedToken> added_tokens;      // tokenizer.json only; each with its id
  TextSteps steps;                           // tokenizer.json only
  TextFrame frame;                           // tokenizer.json only
};

// A vocab.json: one object, token -> id. `where` names the file in errors.
// Throws InvalidFile when it is malformed, or holds anything but distinct tokens with distinct ids.
Vocabulary parse_vocab_json(std::string_view text, const std::string& where);

// A merges.txt: a line each, two tokens with a space between; lines that begin with #version are
// left out.
Merges parse_merges_txt(std::string_view text, const std::string& where);

// The model, added tokens and steps of a tokenizer.json (Hugging Face's tokenizers). CLIP's and
// Qwen2's classes bring steps of their own, as in the reference; of post-processing its frame is
// read. Throws InvalidFile when it is malformed, Unsupported when its model is not BPE.
BpeFiles parse_tokenizer_json(std::string_view text, const std::string& where);

}  // namespace omnirt::text
