#include "families/sdxl/encode_prompt.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "blocks/weighted_prompts.hpp"

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
  return frame.renamed(block.prompt) && frame[block.prompt].empty() && frame[block.force_zeros] &&
         frame[block.syntax] == PromptSyntax::plain;
}

template <class T>
Tensor states_of(Frame& frame, const T& block, const Tensor& ids) {
  int64_t skip = layers_skipped(frame, block);
  return host(frame.call(
      block.text_encoder, {{"ids", {ids}}},
      [skip](const CLIPTextModel& encoder, Context& cx, const Values& in) {
        CLIPTextOptions options{.clip_skip = skip + 1, .normalize = false};
        return encoder.forward(cx, one(in, "ids"), options).last_hidden_state;
      },
      fmt::format("penultimate, clip_skip={}", skip)));
}

template <class T>
Encoded pooled_states_of(Frame& frame, const T& block, const Tensor& ids) {
  int64_t skip = layers_skipped(frame, block);
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

// States of prompts in windows, each moved from the window's last by `weights` {n, T}. `states`
// gives those of ids.
template <class States>
Tensor weighted_states(const WeightedRows& rows, States&& states) {
  std::vector<Tensor> parts;
  int64_t prompts = rows.weights.size(0), whole = 0;
  if (rows.windows.defined()) {
    whole = rows.windows.size(0) / prompts * rows.windows.size(1);
    Tensor made = weigh_from_last(states(rows.windows),
                                  rows.weights.narrow(1, 0, whole).reshape(rows.windows.sizes()));
    parts.push_back(made.reshape({prompts, whole, -1}));
  }
  if (rows.rest.defined()) {
    parts.push_back(
        weigh_from_last(states(rows.rest), rows.weights.narrow(1, whole, rows.rest.size(1))));
  }
  return at::cat(parts, 1);
}

template <class T>
WeightedRows weighted_rows(Frame& frame, const T& block, const Texts& prompts) {
  return rows_of_words(frame[block.tokenizer], prompts,
                       most_tokens(frame[block.tokenizer], frame.under_each(block.prompt)));
}

// The whole prompt is what its last window says.
template <class T>
Encoded weighted_pooled(Frame& frame, const T& block, const Texts& prompts) {
  WeightedRows rows = weighted_rows(frame, block, prompts);
  Tensor pooled;
  Tensor states = weighted_states(rows, [&](const Tensor& ids) {
    Encoded made = pooled_states_of(frame, block, ids);
    auto count = static_cast<int64_t>(prompts.size()), windows = ids.size(0) / count;
    pooled = made.pooled.reshape({count, windows, -1}).select(1, windows - 1);
    return made.states;
  });
  return {states, pooled};
}

template <class T>
Encoded encode_pooled(Frame& frame, const T& block, const Texts& prompts) {
  const CLIPTextModelWithProjection& network = frame[block.text_encoder];
  int64_t window = frame[block.tokenizer].window(), width = network.hidden_size();
  if (is_zero(frame, block))
    return {at::zeros({1, window, width}), at::zeros({1, network.projection_dim()})};
  if (frame[block.syntax] == PromptSyntax::a1111) return weighted_pooled(frame, block, prompts);
  return pooled_states_of(frame, block, token_ids(frame[block.tokenizer], prompts));
}

}  // namespace

void EncodePromptFirst::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
  check_syntax(checks, syntax, checks.all_texts(prompt));
}

void EncodePromptFirst::check_loaded(Checks& checks) const {
  check_weighted_tokens(checks, syntax, tokenizer, checks[text_encoder], checks.all_texts(prompt));
}

void EncodePromptFirst::run(Frame& frame) const {
  const CLIPTextModel& network = frame[text_encoder];
  size_t pictures = frame[seeds].size();
  if (is_zero(frame, *this)) {
    frame[first_embeds] = at::zeros(
        {static_cast<int64_t>(pictures), frame[tokenizer].window(), network.hidden_size()});
    return;
  }
  Texts prompts = or_empty(frame[prompt]);
  auto encode = [&](const Tensor& ids) { return states_of(frame, *this, ids); };
  Tensor states = frame[syntax] == PromptSyntax::a1111
                      ? weighted_states(weighted_rows(frame, *this, prompts), encode)
                      : encode(token_ids(frame[tokenizer], prompts));
  frame[first_embeds] = by_picture(states, pictures);
}

void EncodePromptSecond::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt_2), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
  check_seconds(checks);
}

// Both text encoders' states lie side by side, word by word.
void EncodePromptSecond::check_seconds(Checks& checks) const {
  if (checks[syntax] == PromptSyntax::plain)
    return warn_of_syntax(checks, checks.all_texts(prompt_2));
  for (const auto& [input, given] : checks.all_texts(prompt_2)) {
    // What stands in for both prompts at once is one.
    if (!input.ends_with("_2") || given.empty() || given.front().empty()) continue;
    checks.error({"inputs." + input, given.front(),
                  fmt::format("prompt_syntax {} reads one prompt for both text encoders",
                              name_of(checks[syntax])),
                  "write all of it in " + input.substr(0, input.rfind("_2"))});
  }
}

void EncodePromptSecond::check_loaded(Checks& checks) const {
  if (checks[syntax] == PromptSyntax::plain)
    return check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt_2));
  check_weighted_tokens(checks, syntax, tokenizer, checks[text_encoder], checks.all_texts(prompt));
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
  check_syntax(checks, syntax, checks.all_texts(prompt));
}

void EncodePromptAlone::check_loaded(Checks& checks) const {
  check_weighted_tokens(checks, syntax, tokenizer, checks[text_encoder], checks.all_texts(prompt));
}

void EncodePromptAlone::run(Frame& frame) const {
  size_t pictures = frame[seeds].size();
  Encoded encoded = encode_pooled(frame, *this, or_empty(frame[prompt]));
  frame[prompt_embeds] = by_picture(encoded.states, pictures);
  frame[pooled_prompt_embeds] = by_picture(encoded.pooled, pictures);
}

}  // namespace omnirt::families
