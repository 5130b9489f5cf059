#include "families/sd3/encode_prompt.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "blocks/prompt_tokens.hpp"
#include "blocks/text_width.hpp"

namespace omnirt::sd3 {
namespace {

using SD3Texts = std::vector<std::string>;

// The reference refuses more.
constexpr int64_t most_t5_tokens = 512;

// States of the tokens {n, T, D}, and of the whole prompts {n, P}.
struct ClipEncoded {
  Tensor states, pooled;
};

SD3Texts or_one_empty(const SD3Texts& prompts) {
  return prompts.empty() ? SD3Texts{""} : prompts;
}

// The prompt where the encoder's own says nothing.
SD3Texts own_or_prompt(const SD3Texts* given, const SD3Texts& prompts) {
  bool silent = !given || given->empty() || (given->size() == 1 && given->front().empty());
  return or_one_empty(silent ? prompts : *given);
}

// One row per image: a prompt's images stand together; one text serves all.
Tensor rows_of_images(const Tensor& rows, size_t images) {
  return rows.repeat_interleave(static_cast<int64_t>(images) / rows.size(0), 0);
}

// The reference skips layers for the prompt itself, never for what stands in for it.
template <class T>
ClipEncoded clip_encoded(Frame& frame, const T& block, const SD3Texts& texts) {
  int64_t skip = frame.renamed(block.prompt) ? 0 : frame[block.clip_skip];
  Tensor ids = blocks::token_ids(frame[block.tokenizer], texts);
  Values both = frame.call(
      block.text_encoder, {{"ids", {ids}}},
      [skip](const CLIPTextModel& encoder, Context& cx, const Values& in) {
        auto made = encoder.forward(cx, one(in, "ids"),
                                    {.clip_skip = skip + 1, .normalize = false, .pooled = true});
        Tensor whole = made.text_embeds.defined() ? made.text_embeds : made.pooled;
        return Values{{"states", {made.last_hidden_state}}, {"pooled", {whole}}};
      },
      fmt::format("pooled, clip_skip={}", skip));
  size_t images = frame[block.seeds].size();
  return {rows_of_images(host(one(both, "states")), images),
          rows_of_images(host(one(both, "pooled")), images)};
}

// T5's part behind both CLIPs', which are as wide as it from zeros.
Tensor behind_clip(const Tensor& clip, const Tensor& t5) {
  return at::cat({at::constant_pad_nd(clip, {0, t5.size(2) - clip.size(2)}), t5}, 1);
}

void check_t5_length(Checks& checks, const Config<int64_t>& length) {
  if (checks[length] <= most_t5_tokens) return;
  checks.error({"config.max_sequence_length", std::to_string(checks[length]),
                fmt::format("more than {}", most_t5_tokens),
                fmt::format("give {}", most_t5_tokens)});
}

blocks::Encode t5_ids_of(const text::Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode(text, field, length);
  };
}

}  // namespace

int64_t pooled_width(const CLIPTextModel& encoder) {
  const auto* projected = dynamic_cast<const CLIPTextModelWithProjection*>(&encoder);
  return projected ? projected->projection_dim() : encoder.hidden_size();
}

void EncodePromptFirst::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::check_clip_skip(checks, clip_skip, checks[text_encoder]);
}

void EncodePromptFirst::check_loaded(Checks& checks) const {
  blocks::check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt));
}

void EncodePromptFirst::run(Frame& frame) const {
  ClipEncoded made = clip_encoded(frame, *this, or_one_empty(frame[prompt]));
  frame[first_embeds] = made.states;
  frame[first_pooled] = made.pooled;
}

void EncodePromptSecond::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt_2), checks.texts(prompt).size());
  blocks::check_clip_skip(checks, clip_skip, checks[text_encoder]);
}

void EncodePromptSecond::check_loaded(Checks& checks) const {
  blocks::check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt_2));
}

void EncodePromptSecond::run(Frame& frame) const {
  ClipEncoded made = clip_encoded(frame, *this, own_or_prompt(frame[prompt_2], frame[prompt]));
  frame[clip_embeds] = at::cat({frame[first_embeds], made.states}, 2);
  frame[pooled] = at::cat({frame[first_pooled], made.pooled}, 1);
}

void EncodePromptThird::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt_3), checks.texts(prompt).size());
  check_t5_length(checks, length);
  blocks::check_text_width(checks, "text_encoder_3.d_model", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
}

void EncodePromptThird::check_loaded(Checks& checks) const {
  const text::Tokenizer& t5 = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, t5, checks[text_encoder].vocab_size())) return;
  blocks::Texts texts = checks.all_texts(prompt_3);
  if (texts.empty()) texts = checks.all_texts(prompt);
  blocks::warn_of_long_texts(checks, texts, fmt::format("{} tokens", checks[length]),
                             t5_ids_of(t5, checks[length]));
}

void EncodePromptThird::run(Frame& frame) const {
  const int64_t most = frame[length];
  auto tokens = blocks::masked_tokens(own_or_prompt(frame[prompt_3], frame[prompt]), most,
                                      t5_ids_of(frame[tokenizer], most));
  Tensor made = host(frame.call(text_encoder, {{"ids", {tokens.ids}}},
                                [](const T5EncoderModel& encoder, Context& cx, const Values& in) {
                                  return encoder.forward(cx, one(in, "ids"));
                                }));
  frame[prompt_embeds] = behind_clip(frame[clip_embeds], rows_of_images(made, frame[seeds].size()));
}

void EncodePromptWithoutThird::check(Checks& checks) const {
  check_t5_length(checks, length);
  for (const auto& [input, texts] : checks.all_texts(prompt_3)) {
    if (texts.empty()) continue;
    checks.error({"inputs." + input, texts.front(), "only T5 reads it, and this model has none",
                  "remove it, or give components.text_encoder_3 and components.tokenizer_3"});
  }
}

void EncodePromptWithoutThird::run(Frame& frame) const {
  const Tensor& clip = frame[clip_embeds];
  const SD3Transformer2DModel& network = frame[transformer];
  Tensor zeros = at::zeros({clip.size(0), frame[length], network.context_dim()}, at::kFloat);
  frame[prompt_embeds] = behind_clip(clip, zeros);
}

}  // namespace omnirt::sd3
