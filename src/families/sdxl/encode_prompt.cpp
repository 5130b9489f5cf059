#include "families/sdxl/encode_prompt.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "blocks/prompt_tokens.hpp"

namespace omnirt::families {

using namespace blocks;

namespace {

using Texts = std::vector<std::string>;

// States of the tokens {n, T, D}, and of the whole prompts {n, P}.
struct Encoded {
  Tensor states;
  Tensor pooled;
};

// One row per image: a prompt's images are adjacent; one text serves all.
Tensor by_picture(const Tensor& rows, size_t pictures) {
  return rows.repeat_interleave(static_cast<int64_t>(pictures) / rows.size(0), 0);
}

Texts or_empty(const Texts& prompts) {
  return prompts.empty() ? Texts{""} : prompts;
}

// What the second text encoder reads: the prompt where prompt_2 says nothing.
Texts second_prompts(const Texts* given, const Texts& prompts) {
  bool silent = !given || given->empty() || (given->size() == 1 && given->front().empty());
  return or_empty(silent ? prompts : *given);
}

// The reference skips layers for the prompt itself, never for what stands in for it.
template <class T>
int64_t layers_skipped(Frame& frame, const T& block) {
  return frame.renamed(block.prompt) ? 0 : frame[block.clip_skip];
}

// No negative prompt was given, and the model was trained with zeros then.
template <class T>
bool is_zero(Frame& frame, const T& block) {
  return frame.renamed(block.prompt) && frame[block.prompt].empty() && frame[block.force_zeros];
}

template <class T>
Encoded encode_pooled(Frame& frame, const T& block, const Texts& prompts) {
  const CLIPTextModelWithProjection& network = frame[block.text_encoder];
  int64_t window = frame[block.tokenizer].window(), width = network.hidden_size();
  if (is_zero(frame, block))
    return {at::zeros({1, window, width}), at::zeros({1, network.projection_dim()})};
  int64_t skip = layers_skipped(frame, block);
  Tensor ids = token_ids(frame[block.tokenizer], prompts);
  Values both = frame.call(
      block.text_encoder, {{"ids", {ids}}},
      [skip](const CLIPTextModelWithProjection& encoder, Context& cx, const Values& in) {
        auto output = encoder.forward(cx, one(in, "ids"),
                                      {.clip_skip = skip + 1, .normalize = false, .pooled = true});
        return Values{{"states", {output.last_hidden_state}}, {"pooled", {output.text_embeds}}};
      },
      fmt::format("pooled, clip_skip={}", skip));
  return {host(one(both, "states")), host(one(both, "pooled"))};
}

}  // namespace

void EncodePromptFirst::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
}

void EncodePromptFirst::check_loaded(Checks& checks) const {
  check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt));
}

void EncodePromptFirst::run(Frame& frame) const {
  const CLIPTextModel& network = frame[text_encoder];
  size_t pictures = frame[seeds].size();
  if (is_zero(frame, *this)) {
    frame[first_embeds] = at::zeros(
        {static_cast<int64_t>(pictures), frame[tokenizer].window(), network.hidden_size()});
    return;
  }
  int64_t skip = layers_skipped(frame, *this);
  Tensor states = host(frame.call(
      text_encoder, {{"ids", {token_ids(frame[tokenizer], or_empty(frame[prompt]))}}},
      [skip](const CLIPTextModel& encoder, Context& cx, const Values& in) {
        CLIPTextOptions options{.clip_skip = skip + 1, .normalize = false};
        return encoder.forward(cx, one(in, "ids"), options).last_hidden_state;
      },
      fmt::format("penultimate, clip_skip={}", skip)));
  frame[first_embeds] = by_picture(states, pictures);
}

void EncodePromptSecond::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt_2), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
}

void EncodePromptSecond::check_loaded(Checks& checks) const {
  check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt_2));
}

void EncodePromptSecond::run(Frame& frame) const {
  size_t pictures = frame[seeds].size();
  Encoded second = encode_pooled(frame, *this, second_prompts(frame[prompt_2], frame[prompt]));
  frame[prompt_embeds] = at::cat({frame[first_embeds], by_picture(second.states, pictures)}, 2);
  frame[pooled_prompt_embeds] = by_picture(second.pooled, pictures);
}

void EncodePromptAlone::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
}

void EncodePromptAlone::check_loaded(Checks& checks) const {
  check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt));
}

void EncodePromptAlone::run(Frame& frame) const {
  size_t pictures = frame[seeds].size();
  Encoded encoded = encode_pooled(frame, *this, or_empty(frame[prompt]));
  frame[prompt_embeds] = by_picture(encoded.states, pictures);
  frame[pooled_prompt_embeds] = by_picture(encoded.pooled, pictures);
}

}  // namespace omnirt::families
