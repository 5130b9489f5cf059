#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "text/byte_level_bpe.hpp"
#include "text/cut_prompt.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::text {

// Gemma's byte-pair tokenizer over characters, in a folder of Hugging Face's, with the ids of
// transformers 5.23 (GemmaTokenizer): spaces are U+2581, and nothing is put before the text but the
// tokens that frame it.
class GemmaTokenizer final : public Tokenizer {
 public:
  // Reads tokenizer.json (vocabulary, merges, and the frame, whatever add_bos_token says: as the
  // reference) and tokenizer_config.json (the special tokens). Throws InvalidFile or Unsupported,
  // naming the file. An object `config` replaces tokenizer_config.json.
  static GemmaTokenizer from_folder(const std::filesystem::path& folder, const Json& config = {});

  // The text's ids in their frame as far as they fit, and pad up to `length`.
  TokenizedPrompt encode(std::string_view text, std::string_view field,
                         int64_t length) const override;
  using Tokenizer::encode;
  // The same of `before` and the text; `cut` holds what of the text itself did not fit.
  TokenizedPrompt encode_after(std::string_view before, std::string_view text,
                               std::string_view field, int64_t length) const;

  int64_t window() const override { return window_; }
  int64_t vocab_size() const override { return bpe_.vocabulary().rows(); }
  bool has_token(std::string_view token) const override {
    return bpe_.vocabulary().find(token) >= 0;
  }

 private:
  explicit GemmaTokenizer(ByteLevelBpe bpe) : bpe_(std::move(bpe)) {}
  ByteLevelBpe bpe_;
  FramingIds frame_;
  Padding padding_;
  int64_t window_ = 0;
};

TokenizerInfo gemma_tokenizer_info();

}  // namespace omnirt::text
