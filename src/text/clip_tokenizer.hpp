#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "text/byte_level_bpe.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::text {

// CLIP's byte-pair tokenizer, with the ids of transformers 5.23 (models/clip/tokenization_clip.py).
class CLIPTokenizer final : public Tokenizer {
 public:
  // Reads tokenizer.json, or else vocab.json and merges.txt, and tokenizer_config.json (the window
  // and the special tokens), special_tokens_map.json and added_tokens.json where older folders have
  // them. Throws InvalidFile or Unsupported, naming the file.
  // An object `config` replaces tokenizer_config.json and the files of older folders.
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
  std::string_view token(int64_t id) const override;

  // The text of the ids, lower case, for people to read. Unknown ids are left out.
  std::string decode(std::span<const int64_t> ids) const;

  int64_t window() const override { return window_; }
  int64_t bos_id() const { return bos_; }
  int64_t eos_id() const { return eos_; }
  int64_t pad_id() const { return pad_; }
  int64_t vocab_size() const override { return bpe_.vocabulary().rows(); }

 private:
  explicit CLIPTokenizer(ByteLevelBpe bpe) : bpe_(std::move(bpe)) {}
  std::vector<ByteLevelBpe::Token> tokens(std::string_view text, std::string_view field) const;

  ByteLevelBpe bpe_;
  std::map<int64_t, int64_t> vectors_;  // by id, of tokens with several
  int64_t window_ = 0, bos_ = 0, eos_ = 0, pad_ = 0;
};

TokenizerInfo clip_tokenizer_info();

}  // namespace omnirt::text
