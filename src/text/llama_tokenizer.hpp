#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "text/byte_level_bpe.hpp"
#include "text/cut_prompt.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::text {

// Llama's byte-pair tokenizer over characters, in a folder of Hugging Face's, with the ids of
// transformers 5.23 (LlamaTokenizer): spaces are U+2581, one of which begins each text.
class LlamaTokenizer final : public Tokenizer {
 public:
  // Reads tokenizer.json (vocabulary, merges, and the frame, whatever add_bos_token says: as the
  // reference) and tokenizer_config.json (the special tokens, the side of padding, legacy,
  // add_prefix_space). Throws InvalidFile or Unsupported, naming the file. An object `config`
  // replaces tokenizer_config.json.
  static LlamaTokenizer from_folder(const std::filesystem::path& folder, const Json& config = {});
  // The same with the folder's tokenizer.json as read.
  static LlamaTokenizer from_files(BpeFiles files, const std::filesystem::path& folder,
                                   const Json& config);

  // The text's ids in their frame as far as they fit, and pad up to `length`, before the text where
  // the folder does not say otherwise.
  TokenizedPrompt encode(std::string_view text, std::string_view field,
                         int64_t length) const override;
  using Tokenizer::encode;

  int64_t window() const override { return window_; }
  int64_t vocab_size() const override { return bpe_.vocabulary().rows(); }
  bool has_token(std::string_view token) const override {
    return bpe_.vocabulary().find(token) >= 0;
  }

 private:
  explicit LlamaTokenizer(ByteLevelBpe bpe) : bpe_(std::move(bpe)) {}

  ByteLevelBpe bpe_;
  FramingIds frame_;
  Padding padding_;
  int64_t window_ = 0;
};

// Of folders whose vocabulary is over bytes it makes a MistralTokenizer: newer models have the same
// class's name.
TokenizerInfo llama_tokenizer_info();

}  // namespace omnirt::text
