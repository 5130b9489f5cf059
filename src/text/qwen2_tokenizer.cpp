#include "text/qwen2_tokenizer.hpp"

#include <algorithm>

#include "base/ensure.hpp"
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
  TokenizerSettings settings{folder.string(), config, {}, {}};
  if (!config.is_object()) settings = read_tokenizer_settings(folder.string());
  SpecialTokens specials = read_special_tokens(special_rules(), settings, files.added_tokens);
  ByteLevelBpe bpe(std::move(files), "", {qwen2_normalize, qwen2_words, ""});

  std::string where = (folder / "tokenizer_config.json").string();
  bpe.add_tokens(specials.tokens, where);
  Qwen2Tokenizer tokenizer(std::move(bpe));
  tokenizer.chat_ = read_chat_template(folder, settings.config);
  tokenizer.window_ = specials.window;
  tokenizer.pad_ = tokenizer.bpe_.named_id("pad_token", *specials.pad, where);
  tokenizer.pads_in_front_ = specials.pads_in_front;
  return tokenizer;
}

std::vector<int64_t> Qwen2Tokenizer::encode_words(std::string_view text,
                                                  std::string_view field) const {
  check_prompt(text, field);
  std::vector<int64_t> ids;
  for (const ByteLevelBpe::Token& token : bpe_.tokens(text)) ids.push_back(token.id);
  return ids;
}

Qwen2Tokenizer::Cut Qwen2Tokenizer::cut(std::string_view text, int64_t length) const {
  ensure(length >= 1, "{} ids leave no room for a text", length);
  std::vector<ByteLevelBpe::Token> found = bpe_.tokens(text);
  const auto room = static_cast<size_t>(length);
  Cut result{{}, text.size()};
  TokenizedPrompt& prompt = result.prompt;
  for (size_t i = 0; i < std::min(room, found.size()); ++i) prompt.ids.push_back(found[i].id);
  prompt.used = static_cast<int64_t>(prompt.ids.size());
  if (pads_in_front_) prompt.first = length - prompt.used;
  prompt.ids.insert(pads_in_front_ ? prompt.ids.begin() : prompt.ids.end(),
                    room - prompt.ids.size(), pad_);
  if (found.size() > room) result.at = bpe_.begin_of(found[room], text);
  return result;
}

TokenizedPrompt Qwen2Tokenizer::encode(std::string_view text, std::string_view field,
                                       int64_t length) const {
  check_prompt(text, field);
  Cut made = cut(text, length);
  made.prompt.cut = without_space(text.substr(made.at));
  return made.prompt;
}

TokenizedPrompt Qwen2Tokenizer::encode_chat(std::string_view text, std::string_view field,
                                            int64_t length, Thinking thinking) const {
  check_prompt(text, field);
  const std::string before = chat_.before();
  Cut made = cut(before + std::string(text) + chat_.after(thinking), length);
  const size_t at = std::max(made.at, before.size()) - before.size();
  if (at < text.size()) made.prompt.cut = without_space(text.substr(at));
  return made.prompt;
}

TokenizerInfo qwen2_tokenizer_info() {
  return {.class_names = {"Qwen2Tokenizer", "Qwen2TokenizerFast"},
          .make =
              [](const fs::path& folder, const Json& config) {
                return std::make_shared<const Qwen2Tokenizer>(
                    Qwen2Tokenizer::from_folder(folder, config));
              },
          .summary = "the byte-pair tokenizer of Qwen2 and Qwen3"};
}

}  // namespace omnirt::text
