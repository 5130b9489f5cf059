#include "blocks/prompt_tokens.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

namespace omnirt::blocks {

Tensor token_ids(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts) {
  Tensor ids = at::empty({static_cast<int64_t>(prompts.size()), tokenizer.window()}, at::kLong);
  int64_t* out = ids.mutable_data_ptr<int64_t>();
  for (const std::string& prompt : prompts)
    out = std::ranges::copy(tokenizer.encode(prompt).ids, out).out;
  return ids;
}

MaskedTokens masked_tokens(const std::vector<std::string>& prompts, int64_t length,
                           const Encode& encode) {
  auto count = static_cast<int64_t>(prompts.size());
  MaskedTokens made{at::empty({count, length}, at::kLong), at::zeros({count, length}, at::kFloat)};
  for (int64_t i = 0; i < count; ++i) {
    text::TokenizedPrompt tokenized = encode(prompts[static_cast<size_t>(i)], "prompt");
    std::ranges::copy(tokenized.ids, made.ids.mutable_data_ptr<int64_t>() + i * length);
    made.mask[i].narrow(0, tokenized.first, tokenized.used).fill_(1);
  }
  return made;
}

void check_text_count(Checks& checks, const Texts& texts, size_t prompts) {
  for (const auto& [input, given] : texts) {
    if (given.size() == 1 || given.size() == prompts) continue;
    checks.error({"inputs." + input, fmt::format("{} texts", given.size()),
                  fmt::format("{} prompts were given", prompts),
                  "give one for all, or one per prompt"});
  }
}

void check_clip_skip(Checks& checks, const Config<int64_t>& clip_skip,
                     const CLIPTextModel& text_encoder) {
  int64_t layers = text_encoder.num_layers();
  if (checks[clip_skip] < layers) return;
  checks.error({"config.clip_skip", std::to_string(checks[clip_skip]),
                fmt::format("the text encoder has {} layers", layers),
                fmt::format("give 0 to {}", layers - 1)});
}

namespace {

void warn_of_cuts(Checks& checks, const text::Tokenizer& tokenizer, const std::string& input,
                  const std::string& text) {
  text::TokenizedPrompt tokenized = tokenizer.encode(text, "inputs." + input);
  if (tokenized.cut.empty()) return;
  checks.warn({"inputs." + input, tokenized.cut,
               fmt::format("the prompt is longer than the text encoder's {} tokens; this end was "
                           "cut off",
                           tokenizer.window()),
               "shorten the prompt"});
}

}  // namespace

void check_tokens(Checks& checks, const Component<text::Tokenizer>& tokenizer,
                  const CLIPTextModel& text_encoder, const Texts& texts) {
  const text::Tokenizer& clip = checks[tokenizer];
  if (clip.vocab_size() > text_encoder.vocab_size() || clip.window() > text_encoder.max_tokens()) {
    checks.error({"model." + tokenizer.name(),
                  fmt::format("{} entries, window {}", clip.vocab_size(), clip.window()),
                  fmt::format("the text encoder has {} entries and a window of {}",
                              text_encoder.vocab_size(), text_encoder.max_tokens()),
                  "use the tokenizer of the same model"});
    return;
  }
  for (const auto& [input, given] : texts) {
    for (const std::string& text : given) warn_of_cuts(checks, clip, input, text);
  }
}

bool check_vocabulary(Checks& checks, const text::Tokenizer& tokenizer, int64_t entries) {
  if (tokenizer.vocab_size() <= entries) return true;
  checks.error({"model.tokenizer", fmt::format("{} entries", tokenizer.vocab_size()),
                fmt::format("the text encoder has {} entries", entries),
                "use the tokenizer of the same model"});
  return false;
}

void warn_of_unknown_template(Checks& checks, const text::ChatTokenizer& tokenizer) {
  const std::string file = tokenizer.unknown_template(), usual = tokenizer.usual_template();
  if (file.empty()) return;
  checks.warn({"model.tokenizer", file,
               fmt::format("its chat_template is not one of {0}'s; prompts are written out as "
                           "{0}'s does, so that the image may differ from the reference's",
                           usual),
               "take the template of the model's own tokenizer"});
}

void warn_of_long_texts(Checks& checks, const Texts& texts, const std::string& unit,
                        const Encode& encode) {
  for (const auto& [input, given] : texts) {
    for (const std::string& text : given) {
      text::TokenizedPrompt tokenized = encode(text, "inputs." + input);
      if (tokenized.cut.empty()) continue;
      checks.warn({"inputs." + input, tokenized.cut,
                   fmt::format("the prompt is longer than max_sequence_length, {}; this end was "
                               "cut off",
                               unit),
                   "shorten the prompt, or raise max_sequence_length"});
    }
  }
}

}  // namespace omnirt::blocks
