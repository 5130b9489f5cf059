#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.hpp"
#include "text/precompiled_charsmap.hpp"
#include "text/tokenizer.hpp"
#include "text/unigram.hpp"

namespace omnirt::text {

// T5's unigram tokenizer, with the ids of transformers 5.23 (models/t5/tokenization_t5.py).
class T5Tokenizer final : public Tokenizer {
 public:
  // Reads tokenizer.json, or else spiece.model, and tokenizer_config.json (the window and the
  // special tokens), added_tokens.json where older folders have it. Throws InvalidFile or
  // Unsupported, naming the file.
  static T5Tokenizer from_folder(const std::filesystem::path& folder);

  // The ids of the text alone. Throws as `encode` does.
  std::vector<int64_t> encode_words(std::string_view text, std::string_view field = "prompt") const;

  // The text's ids as far as they fit, eos, and pad up to `length`.
  TokenizedPrompt encode(std::string_view text, std::string_view field,
                         int64_t length) const override;
  using Tokenizer::encode;

  int64_t window() const override { return window_; }
  int64_t eos_id() const { return eos_; }
  int64_t pad_id() const { return pad_; }
  int64_t vocab_size() const override { return rows_; }

 private:
  struct Token {
    int64_t id;
    size_t begin;  // byte of the text
  };

  T5Tokenizer(Unigram model, PrecompiledCharsmap charsmap);
  // What the vocabulary lacks gets the ids after it, in order. A declared id must be the one that
  // results from this.
  void add_token(const std::string& content, std::optional<int64_t> declared,
                 const std::string& where);
  // A token by its content; throws InvalidFile when there is none.
  int64_t named_id(const char* name, const std::string& token, const std::string& where) const;
  std::vector<Token> tokens(std::string_view text, std::string_view field) const;
  struct Budget;
  void append_words(std::string_view text, size_t origin, Budget& budget,
                    std::vector<Token>& out) const;

  Unigram model_;
  PrecompiledCharsmap charsmap_;
  TokenMatcher added_;
  std::map<std::string, int64_t, std::less<>> added_ids_;
  int64_t rows_ = 0, window_ = 0, eos_ = 0, pad_ = 0;
};

TokenizerInfo t5_tokenizer_info();

}  // namespace omnirt::text
