#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "text/byte_level_bpe.hpp"
#include "text/chat_template.hpp"
#include "text/chat_tokenizer.hpp"
#include "text/cut_prompt.hpp"

namespace omnirt::text {

// The byte-pair tokenizer of Qwen2, Qwen2.5 and Qwen3, with the ids of transformers 5.23
// (models/qwen2/tokenization_qwen2.py).
class Qwen2Tokenizer final : public ChatTokenizer {
 public:
  // Reads tokenizer.json, or else vocab.json and merges.txt; tokenizer_config.json (the special
  // tokens, the side of padding), chat_template.jinja, and special_tokens_map.json and
  // added_tokens.json where older folders have them. Throws InvalidFile or Unsupported, naming the
  // file. An object `config` replaces tokenizer_config.json and the files of older folders.
  static Qwen2Tokenizer from_folder(const std::filesystem::path& folder, const Json& config = {});

  // The ids of the text alone. Throws as `encode` does.
  std::vector<int64_t> encode_words(std::string_view text, std::string_view field = "prompt") const;

  // The text's ids as far as they fit, and pad up to `length`, before the text where the folder
  // says so.
  TokenizedPrompt encode(std::string_view text, std::string_view field,
                         int64_t length) const override;
  using Tokenizer::encode;

  // The same of the conversation in which a user says `text`, up to where the model would answer
  // (transformers apply_chat_template with add_generation_prompt=True and enable_thinking).
  // `cut` holds what of the text itself did not fit.
  TokenizedPrompt encode_chat(std::string_view text, std::string_view field, int64_t length,
                              Thinking thinking = Thinking::off) const;
  const ChatTemplate& chat_template() const { return chat_; }
  std::string unknown_template() const override {
    return chat_.kind == ChatTemplate::Kind::unknown ? chat_.where : "";
  }
  std::string usual_template() const override { return "Qwen3"; }

  int64_t window() const override { return window_; }
  int64_t pad_id() const { return padding_.id; }
  int64_t vocab_size() const override { return bpe_.vocabulary().rows(); }
  bool has_token(std::string_view token) const override {
    return bpe_.vocabulary().find(token) >= 0;
  }

 private:
  explicit Qwen2Tokenizer(ByteLevelBpe bpe) : bpe_(std::move(bpe)) {}
  ByteLevelBpe bpe_;
  ChatTemplate chat_;
  Padding padding_;
  int64_t window_ = 0;
};

TokenizerInfo qwen2_tokenizer_info();

}  // namespace omnirt::text
