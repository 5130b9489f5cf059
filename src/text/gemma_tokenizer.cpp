#include "text/gemma_tokenizer.hpp"

#include "base/path_text.hpp"
#include "text/character_bpe.hpp"
#include "text/prompt_text.hpp"
#include "text/special_tokens.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

constexpr int64_t window_of_a_prompt = 256;  // folders name none

const SpecialRules& gemma_rules() {
  static const SpecialRules rules{.whose = "Gemma's tokenizer",
                                  .defaults = {{"bos_token", "<bos>"},
                                               {"eos_token", "<eos>"},
                                               {"unk_token", "<unk>"},
                                               {"pad_token", "<pad>"},
                                               {"mask_token", "<mask>"}},
                                  .required = {"pad_token"},
                                  // The pipelines pad after the text, whatever the folder says.
                                  .may_pad_in_front = true,
                                  .usual_window = window_of_a_prompt};
  return rules;
}

}  // namespace

GemmaTokenizer GemmaTokenizer::from_folder(const fs::path& folder, const Json& config) {
  BpeFiles files = read_bpe_folder(folder, "a Gemma tokenizer");
  TokenizerSettings settings{path_text(folder), config, {}, {}};
  if (!config.is_object()) settings = read_tokenizer_settings(folder);
  SpecialTokens specials = read_special_tokens(gemma_rules(), settings, files.added_tokens);
  const TextFrame frame = files.frame;
  const std::string where = path_text(folder / "tokenizer_config.json");
  ByteLevelBpe::Rules rules{
      .normalize = with_underlines, .words = as_one_word, .suffix = "", .characters = true};
  GemmaTokenizer tokenizer(ByteLevelBpe(std::move(files), specials.unk.value_or(""), rules));

  tokenizer.bpe_.add_tokens(specials.tokens, where);
  tokenizer.frame_ = framing_ids(tokenizer.bpe_, frame, where);
  tokenizer.window_ = specials.window;
  tokenizer.padding_ = {tokenizer.bpe_.named_id("pad_token", *specials.pad, where)};
  return tokenizer;
}

TokenizedPrompt GemmaTokenizer::encode(std::string_view text, std::string_view field,
                                       int64_t length) const {
  return encode_after("", text, field, length);
}

TokenizedPrompt GemmaTokenizer::encode_after(std::string_view before, std::string_view text,
                                             std::string_view field, int64_t length) const {
  check_prompt(text, field);
  const std::string all = std::string(before) + std::string(text);
  CutPrompt made = cut_framed_prompt(bpe_, frame_, all, length, padding_);
  made.prompt.cut = cut_of(made, text, before.size());
  return made.prompt;
}

TokenizerInfo gemma_tokenizer_info() {
  return {.class_names = {"GemmaTokenizer", "GemmaTokenizerFast"},
          .make =
              [](const fs::path& folder, const Json& config) {
                return std::make_shared<const GemmaTokenizer>(
                    GemmaTokenizer::from_folder(folder, config));
              },
          .summary = "Gemma's byte-pair tokenizer over characters"};
}

}  // namespace omnirt::text
