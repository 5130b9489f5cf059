#include "text/mistral_tokenizer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "text/chat_template.hpp"
#include "text/mistral_text.hpp"
#include "text/prompt_text.hpp"
#include "text/special_tokens.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

constexpr int64_t window_of_a_prompt = 512;  // folders name none

const SpecialRules& mistral_rules() {
  static const SpecialRules rules{
      .whose = "Mistral's tokenizer",
      .defaults = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}},
      .required = {"bos_token", "pad_token"},
      .only_false = {"add_eos_token", "add_prefix_space"},
      .may_pad_in_front = true,
      .other_tokens = {"image_token", "image_break_token", "image_end_token"},
      .usual_window = window_of_a_prompt};
  return rules;
}

std::string as_given(std::string_view text) {
  return std::string(text);
}

CutWords words_of(const BpeFiles& files) {
  const TextSteps& steps = files.steps;
  auto refuse = [&](const char* name, const std::vector<std::string>& values) {
    throw Unsupported({files.vocabulary_file, fmt::format("{}: {}", name, fmt::join(values, ", ")),
                       "Mistral's tokenizers cut words by one of two patterns and take bytes",
                       "give the folder of the model's own tokenizer"});
  };
  for (const std::string& kind : steps.kinds)
    if (kind != "Sequence" && kind != "Split" && kind != "ByteLevel") refuse("type", steps.kinds);
  for (const std::string& name : steps.set)
    if (name != "trim_offsets") refuse("true", {name});
  CutWords words = steps.patterns.size() == 1 ? mistral_words(steps.patterns[0]) : nullptr;
  if (!words) refuse("pattern", steps.patterns);
  return words;
}

// The classes of Llama's name pad in front unless the settings say otherwise.
bool pads_in_front(const SpecialTokens& specials, const Json& config) {
  if (specials.pads_in_front || config.contains("padding_side")) return specials.pads_in_front;
  const Json name = config.value("tokenizer_class", Json());
  return name == "LlamaTokenizerFast" || name == "LlamaTokenizer";
}

// "" where the template is Mistral Small 3's, or there is none.
std::string unknown_mistral_template(const TemplateText& found) {
  auto writes = [&](std::string_view part) { return found.text.find(part) != std::string::npos; };
  const bool known = writes("bos_token") && writes("'[SYSTEM_PROMPT]' + ") &&
                     writes("'[/SYSTEM_PROMPT]'") && writes("'[INST]'") && writes("'[/INST]'");
  return found.where.empty() || known ? "" : found.where;
}

}  // namespace

MistralTokenizer MistralTokenizer::from_folder(const fs::path& folder, const Json& config) {
  return from_files(read_bpe_folder(folder, "a Mistral tokenizer"), folder, config);
}

MistralTokenizer MistralTokenizer::from_files(BpeFiles files, const fs::path& folder,
                                              const Json& config) {
  TokenizerSettings settings{path_text(folder), config, {}, {}};
  if (!config.is_object()) settings = read_tokenizer_settings(folder);
  if (!settings.config.is_object()) settings.config = Json::object();
  SpecialTokens specials = read_special_tokens(mistral_rules(), settings, files.added_tokens);
  ByteLevelBpe::Rules rules{as_given, words_of(files), "", files.steps.whole_words};
  MistralTokenizer tokenizer(ByteLevelBpe(std::move(files), "", rules));

  std::string where = path_text(folder / "tokenizer_config.json");
  tokenizer.bpe_.add_tokens(specials.tokens, where);
  tokenizer.unknown_template_ =
      unknown_mistral_template(read_template_text(folder, settings.config));
  tokenizer.window_ = specials.window;
  tokenizer.bos_ = *specials.bos;
  tokenizer.bpe_.named_id("bos_token", *specials.bos, where);
  tokenizer.padding_ = {tokenizer.bpe_.named_id("pad_token", *specials.pad, where),
                        pads_in_front(specials, settings.config)};
  return tokenizer;
}

std::vector<int64_t> MistralTokenizer::encode_words(std::string_view text,
                                                    std::string_view field) const {
  check_prompt(text, field);
  std::vector<int64_t> ids;
  for (const ByteLevelBpe::Token& token : bpe_.tokens(text)) ids.push_back(token.id);
  return ids;
}

TokenizedPrompt MistralTokenizer::framed(const std::string& before, std::string_view text,
                                         std::string_view after, int64_t length) const {
  const std::string all = before + std::string(text) + std::string(after);
  CutPrompt made = cut_prompt(bpe_, all, length, padding_);
  made.prompt.cut = cut_of(made, text, before.size());
  return made.prompt;
}

TokenizedPrompt MistralTokenizer::encode(std::string_view text, std::string_view field,
                                         int64_t length) const {
  check_prompt(text, field);
  return framed(bos_, text, "", length);
}

TokenizedPrompt MistralTokenizer::encode_chat(std::string_view system, std::string_view text,
                                              std::string_view field, int64_t length) const {
  check_prompt(text, field);
  const std::string before = fmt::format("{}[SYSTEM_PROMPT]{}[/SYSTEM_PROMPT][INST]", bos_, system);
  return framed(before, text, "[/INST]", length);
}

TokenizerInfo mistral_tokenizer_info() {
  return {.class_names = {"PixtralProcessor", "TokenizersBackend"},
          .make =
              [](const fs::path& folder, const Json& config) {
                return std::make_shared<const MistralTokenizer>(
                    MistralTokenizer::from_folder(folder, config));
              },
          .summary =
              "the byte-pair tokenizer of Mistral Small 3, in a folder of its own or of "
              "Pixtral's processor"};
}

}  // namespace omnirt::text
