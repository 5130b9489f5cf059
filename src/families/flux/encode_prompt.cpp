#include "families/flux/encode_prompt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/prompt_tokens.hpp"

namespace omnirt::flux {
namespace {

using FluxTexts = std::vector<std::string>;

// The reference refuses more.
constexpr int64_t most_tokens = 512;

blocks::Encode t5_tokens_of(const text::Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode(text, field, length);
  };
}

FluxTexts or_the_empty_one(const FluxTexts& prompts) {
  return prompts.empty() ? FluxTexts{""} : prompts;
}

// The prompt where prompt_2 says nothing.
FluxTexts texts_for_t5(const FluxTexts* given, const FluxTexts& prompts) {
  bool silent = !given || std::ranges::all_of(*given, &std::string::empty);
  return or_the_empty_one(silent ? prompts : *given);
}

// One row per image: a prompt's images are adjacent; one text serves all.
Tensor row_of_each(const Tensor& rows, size_t images) {
  return rows.repeat_interleave(static_cast<int64_t>(images) / rows.size(0), 0);
}

}  // namespace

void EncodePooled::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
}

void EncodePooled::check_loaded(Checks& checks) const {
  blocks::check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt));
}

void EncodePooled::run(Frame& frame) const {
  Tensor ids = blocks::token_ids(frame[tokenizer], or_the_empty_one(frame[prompt]));
  Tensor made =
      host(frame.call(text_encoder, {{"ids", {ids}}},
                      [](const CLIPTextModel& encoder, Context& cx, const Values& in) {
                        return encoder.forward(cx, one(in, "ids"), {.pooled = true}).pooled;
                      }));
  frame[pooled] = row_of_each(made, frame[seeds].size());
}

void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt_2), checks.texts(prompt).size());
  if (checks[length] <= most_tokens) return;
  checks.error({"config.max_sequence_length", std::to_string(checks[length]),
                fmt::format("more than {}", most_tokens), fmt::format("give {}", most_tokens)});
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::Tokenizer& t5 = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, t5, checks[text_encoder].vocab_size())) return;
  blocks::Texts texts = checks.all_texts(prompt_2);
  if (texts.empty()) texts = checks.all_texts(prompt);
  blocks::warn_of_long_texts(checks, texts, fmt::format("{} tokens", checks[length]),
                             t5_tokens_of(t5, checks[length]));
}

void EncodePrompt::run(Frame& frame) const {
  const int64_t most = frame[length];
  auto tokens = blocks::masked_tokens(texts_for_t5(frame[prompt_2], frame[prompt]), most,
                                      t5_tokens_of(frame[tokenizer], most));
  Tensor made = host(frame.call(text_encoder, {{"ids", {tokens.ids}}},
                                [](const T5EncoderModel& encoder, Context& cx, const Values& in) {
                                  return encoder.forward(cx, one(in, "ids"));
                                }));
  frame[prompt_embeds] = row_of_each(made, frame[seeds].size());
}

}  // namespace omnirt::flux
