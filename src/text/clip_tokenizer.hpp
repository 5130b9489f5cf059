#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "text/added_tokens.hpp"
#include "text/bpe.hpp"
#include "text/tokenizer.hpp"
#include "text/vocabulary.hpp"

namespace omnirt::text {

// CLIP's byte-pair tokenizer, with the ids of transformers 5.23 (models/clip/tokenization_clip.py).
class CLIPTokenizer final : public Tokenizer {
 public:
  // Reads tokenizer.json, or else vocab.json and merges.txt, and tokenizer_config.json (the window
  // and the special tokens), special_tokens_map.json and added_tokens.json where older folders have
  // them. Throws InvalidFile or Unsupported, naming the file.
  // An object `config` stands for tokenizer_config.json and for the files of older folders.
  static CLIPTokenizer from_folder(const std::filesystem::path& folder, const Json& config = {});

  // The ids of the text alone. Throws as `encode` does.
  std::vector<int64_t> encode_words(std::string_view text, std::string_view field = "prompt") const;

  // bos, the text's ids as far as they fit, eos, and pad up to `length`.
  TokenizedPrompt encode(std::string_view text, std::string_view field,
                         int64_t length) const override;
  using Tokenizer::encode;

  std::shared_ptr<const Tokenizer> with_tokens(
      const std::vector<TokenVectors>& added) const override;
  bool has_token(std::string_view token) const override;

  // The text that ids stand for, lower case, for people to read. Unknown ids are left out.
  std::string decode(std::span<const int64_t> ids) const;

  int64_t window() const override { return window_; }
  int64_t bos_id() const { return bos_; }
  int64_t eos_id() const { return eos_; }
  int64_t pad_id() const { return pad_; }
  int64_t vocab_size() const override { return vocabulary_->rows(); }

 private:
  // Where a token comes from: byte `at` of the normalized form of text[begin, end).
  struct Token {
    int64_t id;
    size_t begin, end, at;
  };

  CLIPTokenizer(Vocabulary vocabulary, Bpe bpe)
      : vocabulary_(std::make_shared<Vocabulary>(std::move(vocabulary))),
        bpe_(std::make_shared<const Bpe>(std::move(bpe))) {}
  void append_added(const Token& token, std::vector<Token>& out) const;
  void add_tokens(const std::vector<AddedToken>& tokens, const std::string& where);
  void add_token(const AddedToken& token, int64_t next, const std::string& where);
  int64_t named_id(const char* name, const std::string& token, const std::string& where) const;
  std::vector<Token> tokens(std::string_view text, std::string_view field) const;
  void append_plain(std::string_view text, size_t begin, size_t end, std::vector<Token>& out) const;
  void append_words(std::string_view normalized, Token from, std::vector<Token>& out) const;

  std::shared_ptr<Vocabulary> vocabulary_;
  std::shared_ptr<const Bpe> bpe_;
  std::map<int64_t, int64_t> vectors_;  // by id, of tokens that stand for several
  TokenMatcher in_given_text_, in_normalized_text_;
  int64_t window_ = 0, bos_ = 0, eos_ = 0, pad_ = 0;
};

TokenizerInfo clip_tokenizer_info();

}  // namespace omnirt::text
