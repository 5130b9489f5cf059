#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.hpp"
#include "text/bpe.hpp"
#include "text/tokenizer_json.hpp"
#include "text/vocabulary.hpp"

namespace omnirt::text {

// The tokenizer.json of a folder, or else its vocab.json and merges.txt. `whose` tokenizer it is
// ("a CLIP tokenizer") is named in the error where there is neither. Throws InvalidFile or
// Unsupported, naming the file.
BpeFiles read_bpe_folder(const std::filesystem::path& folder, const std::string& whose);

// Byte-pair encoding of whole texts: added tokens are found first, those of the text as given, then
// those of the normalised text; what is between them is cut into words, which the merges take.
class ByteLevelBpe {
 public:
  // Before which parts of a text, between added tokens, a prefix is put.
  enum class Prefixed { none, first, each };
  // What differs between classes of tokenizers.
  struct Rules {
    std::string (*normalize)(std::string_view valid_utf8);
    std::vector<std::string_view> (*words)(std::string_view normalized);
    std::string_view suffix;    // as in Bpe
    bool whole_words = false;   // a word that the vocabulary has is its token, whatever the merges
    bool characters = false;    // symbols are characters (CharacterBpe) instead of bytes
    std::string_view prefix{};  // put before normalised text that does not begin with it
    Prefixed prefixed = Prefixed::none;
  };
  // Where a token comes from: byte `at` of the normalised form of text[begin, end), without prefix.
  struct Token {
    int64_t id;
    size_t begin, end, at;
  };

  // `unknown` as in Bpe and CharacterBpe: a token's content, or empty.
  ByteLevelBpe(BpeFiles files, const std::string& unknown, const Rules& rules);

  // What the vocabulary lacks gets the ids after it, in order. Of tokens with the same content the
  // last one's flags count. Throws InvalidFile, naming `where`, where a declared id is another.
  void add_tokens(const std::vector<AddedToken>& tokens, const std::string& where);
  // A token that the vocabulary does not know, found in normalised text.
  void add_alias(std::string_view content, int32_t id);

  // A token by its content; throws InvalidFile where there is none.
  int64_t named_id(const char* name, const std::string& token, const std::string& where) const;
  const Vocabulary& vocabulary() const { return *vocabulary_; }

  // Of valid UTF-8.
  std::vector<Token> tokens(std::string_view text) const;
  // The byte of `text` at which a token begins, or just before.
  size_t begin_of(const Token& token, std::string_view text) const;

 private:
  void add_token(const AddedToken& token, int64_t next, const std::string& where);
  void append_plain(std::string_view text, size_t begin, size_t end, std::vector<Token>& out) const;
  // The id of a word that is one token by itself, where such are taken whole; or -1.
  int32_t whole_word(std::string_view word) const;
  void append_words(std::string_view normalized, Token from, std::vector<Token>& out) const;
  size_t original_offset(std::string_view text, size_t at) const;
  // What is put before the normalised part that begins at this byte of the text.
  std::string_view prefix_of(std::string_view normalized, size_t begin) const;

  std::shared_ptr<Vocabulary> vocabulary_;  // copies share both
  std::shared_ptr<const BpeEncoder> bpe_;
  Rules rules_;
  TokenMatcher in_given_text_, in_normalized_text_;
};

}  // namespace omnirt::text
