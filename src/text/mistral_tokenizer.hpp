#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "text/byte_level_bpe.hpp"
#include "text/chat_tokenizer.hpp"
#include "text/cut_prompt.hpp"

namespace omnirt::text {

// The byte-pair tokenizer of Mistral's "tekken" vocabularies in a folder of Hugging Face's (of a
// tokenizer or of Pixtral's processor), with the ids of transformers 5.23 (TokenizersBackend).
class MistralTokenizer final : public ChatTokenizer {
 public:
  // Reads tokenizer.json, whose pattern cuts words; tokenizer_config.json (the special tokens, the
  // side of padding); chat_template.jinja or chat_template.json. Throws InvalidFile or Unsupported,
  // naming the file. An object `config` replaces tokenizer_config.json.
  static MistralTokenizer from_folder(const std::filesystem::path& folder, const Json& config = {});
  // The same with the folder's tokenizer.json as read.
  static MistralTokenizer from_files(BpeFiles files, const std::filesystem::path& folder,
                                     const Json& config);

  // The ids of the text alone. Throws as `encode` does.
  std::vector<int64_t> encode_words(std::string_view text, std::string_view field = "prompt") const;

  // bos_token and the text's ids as far as they fit, and pad up to `length`, before the text where
  // the folder says so.
  TokenizedPrompt encode(std::string_view text, std::string_view field,
                         int64_t length) const override;
  using Tokenizer::encode;

  // The same of the conversation in which, after the system's words, a user says `text`
  // (transformers apply_chat_template with add_generation_prompt=False). `cut` holds what of the
  // text itself did not fit.
  TokenizedPrompt encode_chat(std::string_view system, std::string_view text,
                              std::string_view field, int64_t length) const;
  std::string unknown_template() const override { return unknown_template_; }
  std::string usual_template() const override { return "Mistral Small 3"; }

  int64_t window() const override { return window_; }
  int64_t pad_id() const { return padding_.id; }
  int64_t vocab_size() const override { return bpe_.vocabulary().rows(); }
  bool has_token(std::string_view token) const override {
    return bpe_.vocabulary().find(token) >= 0;
  }

 private:
  explicit MistralTokenizer(ByteLevelBpe bpe) : bpe_(std::move(bpe)) {}
  // What is said between `before` and `after`, cut and padded.
  TokenizedPrompt framed(const std::string& before, std::string_view text, std::string_view after,
                         int64_t length) const;

  ByteLevelBpe bpe_;
  std::string bos_, unknown_template_;
  Padding padding_;
  int64_t window_ = 0;
};

TokenizerInfo mistral_tokenizer_info();

}  // namespace omnirt::text
