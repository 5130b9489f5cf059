#include "text/qwen2_tokenizer.hpp"

#include "base/path_text.hpp"
#include "text/prompt_text.hpp"
#include "text/qwen2_text.hpp"
#include "text/special_tokens.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

// The usual folder asks for 131,072 ids: more than anyone wants of a prompt.
constexpr int64_t usual_window = 512;

const SpecialRules& special_rules() {
  static const SpecialRules rules{
      .whose = "Qwen2's tokenizer",
      .defaults = {{"eos_token", "<|endoftext|>"},
                   {"unk_token", "<|endoftext|>"},
                   {"pad_token", "<|endoftext|>"}},
      .required = {"pad_token"},
      .only_false = {"add_bos_token", "add_eos_token", "add_prefix_space"},
      .may_pad_in_front = true,
      .usual_window = usual_window};
  return rules;
}

}  // namespace

Qwen2Tokenizer Qwen2Tokenizer::from_folder(const fs::path& folder, const Json& config) {
  BpeFiles files = read_bpe_folder(folder, "a Qwen tokenizer");
  TokenizerSettings settings{path_text(folder), config, {}, {}};
  if (!config.is_object()) settings = read_tokenizer_settings(folder);
  SpecialTokens specials = read_special_tokens(special_rules(), settings, files.added_tokens);
  ByteLevelBpe bpe(std::move(files), "", {qwen2_normalize, qwen2_words, ""});

  std::string where = path_text(folder / "tokenizer_config.json");
  bpe.add_tokens(specials.tokens, where);
  Qwen2Tokenizer tokenizer(std::move(bpe));
  tokenizer.chat_ = read_chat_template(folder, settings.config);
  tokenizer.window_ = specials.window;
  tokenizer.padding_ = {tokenizer.bpe_.named_id("pad_token", *specials.pad, where),
                        specials.pads_in_front};
  return tokenizer;
}

std::vector<int64_t> Qwen2Tokenizer::encode_words(std::string_view text,
                                                  std::string_view field) const {
  check_prompt(text, field);
  std::vector<int64_t> ids;
  for (const ByteLevelBpe::Token& token : bpe_.tokens(text)) ids.push_back(token.id);
  return ids;
}

TokenizedPrompt Qwen2Tokenizer::encode(std::string_view text, std::string_view field,
                                       int64_t length) const {
  check_prompt(text, field);
  CutPrompt made = cut_prompt(bpe_, text, length, padding_);
  made.prompt.cut = cut_of(made, text, 0);
  return made.prompt;
}

TokenizedPrompt Qwen2Tokenizer::encode_chat(std::string_view text, std::string_view field,
                                            int64_t length, Thinking thinking) const {
  check_prompt(text, field);
  const std::string before = chat_.before();
  CutPrompt made =
      cut_prompt(bpe_, before + std::string(text) + chat_.after(thinking), length, padding_);
  made.prompt.cut = cut_of(made, text, before.size());
  return made.prompt;
}

TokenizerInfo qwen2_tokenizer_info() {
  // A processor's folder holds the tokenizer.
  return {.class_names = {"Qwen2Tokenizer", "Qwen2TokenizerFast", "Qwen3VLProcessor"},
          .make =
              [](const fs::path& folder, const Json& config) {
                return std::make_shared<const Qwen2Tokenizer>(
                    Qwen2Tokenizer::from_folder(folder, config));
              },
          .summary = "the byte-pair tokenizer of Qwen2 and Qwen3"};
}

}  // namespace omnirt::text
