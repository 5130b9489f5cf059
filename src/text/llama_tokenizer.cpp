#include "text/llama_tokenizer.hpp"

#include <algorithm>

#include "base/path_text.hpp"
#include "text/character_bpe.hpp"
#include "text/mistral_tokenizer.hpp"
#include "text/prompt_text.hpp"
#include "text/special_tokens.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

constexpr int64_t window_of_a_prompt = 256;  // folders name none

const SpecialRules& llama_rules() {
  static const SpecialRules rules{
      .whose = "Llama's tokenizer",
      .defaults = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}},
      .required = {"pad_token"},
      .may_pad_in_front = true,
      .usual_window = window_of_a_prompt};
  return rules;
}

// Before each part of a text in the old way, before its beginning in the new one.
ByteLevelBpe::Prefixed prefixed_parts(const Json& config) {
  if (config.value("add_prefix_space", Json()) == Json(false)) return ByteLevelBpe::Prefixed::none;
  return config.value("legacy", Json()) == Json(true) ? ByteLevelBpe::Prefixed::each
                                                      : ByteLevelBpe::Prefixed::first;
}

bool is_over_bytes(const BpeFiles& files) {
  return std::ranges::find(files.steps.kinds, "ByteLevel") != files.steps.kinds.end();
}

}  // namespace

LlamaTokenizer LlamaTokenizer::from_folder(const fs::path& folder, const Json& config) {
  return from_files(read_bpe_folder(folder, "a Llama tokenizer"), folder, config);
}

LlamaTokenizer LlamaTokenizer::from_files(BpeFiles files, const fs::path& folder,
                                          const Json& config) {
  TokenizerSettings settings{path_text(folder), config, {}, {}};
  if (!config.is_object()) settings = read_tokenizer_settings(folder);
  if (!settings.config.is_object()) settings.config = Json::object();
  SpecialTokens specials = read_special_tokens(llama_rules(), settings, files.added_tokens);
  const TextFrame frame = files.frame;
  const std::string where = path_text(folder / "tokenizer_config.json");
  ByteLevelBpe::Rules rules{.normalize = with_underlines,
                            .words = as_one_word,
                            .suffix = "",
                            .characters = true,
                            .prefix = underline_for_space,
                            .prefixed = prefixed_parts(settings.config)};
  // The reference's model knows no unknown token: all bytes have one.
  LlamaTokenizer tokenizer(ByteLevelBpe(std::move(files), "", rules));

  tokenizer.bpe_.add_tokens(specials.tokens, where);
  tokenizer.frame_ = framing_ids(tokenizer.bpe_, frame, where);
  tokenizer.window_ = specials.window;
  tokenizer.padding_ = {tokenizer.bpe_.named_id("pad_token", *specials.pad, where),
                        specials.pads_in_front || !settings.config.contains("padding_side")};
  return tokenizer;
}

TokenizedPrompt LlamaTokenizer::encode(std::string_view text, std::string_view field,
                                       int64_t length) const {
  check_prompt(text, field);
  CutPrompt made = cut_framed_prompt(bpe_, frame_, text, length, padding_);
  made.prompt.cut = cut_of(made, text, 0);
  return made.prompt;
}

TokenizerInfo llama_tokenizer_info() {
  return {
      .class_names = {"LlamaTokenizer", "LlamaTokenizerFast"},
      .make = [](const fs::path& folder, const Json& config) -> std::shared_ptr<const Tokenizer> {
        BpeFiles files = read_bpe_folder(folder, "a Llama tokenizer");
        if (is_over_bytes(files)) {
          return std::make_shared<const MistralTokenizer>(
              MistralTokenizer::from_files(std::move(files), folder, config));
        }
        return std::make_shared<const LlamaTokenizer>(
            LlamaTokenizer::from_files(std::move(files), folder, config));
      },
      .summary = "Llama's byte-pair tokenizer over characters"};
}

}  // namespace omnirt::text
