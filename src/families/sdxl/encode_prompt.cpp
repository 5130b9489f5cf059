#include "families/sdxl/encode_prompt.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "blocks/compel_prompts.hpp"
#include "blocks/weighted_prompts.hpp"

namespace omnirt::families {

using namespace blocks;

namespace {

using Texts = std::vector<std::string>;

// As the UNet names them.
constexpr const char *states_input = "encoder_hidden_states", *pooled_input = "text_embeds";

// States of the tokens {n, T, D}, and of the whole prompts {n, P}.
struct Encoded {
  Tensor states;
  Tensor pooled;
};

// One row per image: a prompt's images are adjacent; one text serves all.
Tensor by_image(const Tensor& rows, size_t images) {
  return rows.repeat_interleave(static_cast<int64_t>(images) / rows.size(0), 0);
}

Texts or_empty(const Texts& prompts) {
  return prompts.empty() ? Texts{""} : prompts;
}

// What the second text encoder reads: the prompt where prompt_2 says nothing.
Texts second_prompts(const Texts* given, const Texts& prompts) {
  bool silent = !given || given->empty() || (given->size() == 1 && given->front().empty());
  return or_empty(silent ? prompts : *given);
}

// The reference skips layers for the prompt itself, never for what replaces it.
template <class T>
int64_t layers_skipped(Frame& frame, const T& block) {
  return frame.renamed(block.prompt) ? 0 : frame[block.clip_skip];
}

// The prompts of each turn; one, but in a syntax that knows others.
template <class T>
TextTurns text_turns(Frame& frame, const T& block, const Texts& prompts) {
  if (frame[block.syntax] != PromptSyntax::a1111) return {{prompts}, {}};
  return turns_of(prompts, "prompt", frame[block.steps]);
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
// returns those of ids.
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
  return rows_of_words(
      frame[block.tokenizer], prompts,
      most_tokens(frame[block.tokenizer], frame.under_each(block.prompt), frame[block.steps]));
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
Tensor composed_states(Frame& frame, const T& block, const Texts& prompts) {
  int64_t skip = layers_skipped(frame, block);
  int64_t windows = most_compel_windows(frame[block.tokenizer], frame.under_each(block.prompt));
  auto states = [&](const Tensor& ids, const Tensor& mask) {
    return host(frame.call(
        block.text_encoder, {{"ids", {ids}}, {"mask", {mask}}},
        [skip](const CLIPTextModel& encoder, Context& cx, const Values& in) {
          CLIPTextOptions options{
              .clip_skip = skip + 1, .normalize = false, .mask = &one(in, "mask")};
          return encoder.forward(cx, one(in, "ids"), options).last_hidden_state;
        },
        fmt::format("masked, penultimate, clip_skip={}", skip)));
  };
  return compel_states(frame[block.tokenizer], prompts, windows, states);
}

// The reference pools the text as it is written, weights and all.
template <class T>
Encoded composed_pooled(Frame& frame, const T& block, const Texts& prompts) {
  Tensor ids = token_ids(frame[block.tokenizer], prompts);
  return {composed_states(frame, block, prompts), pooled_states_of(frame, block, ids).pooled};
}

template <class T>
Encoded encode_pooled(Frame& frame, const T& block, const Texts& prompts) {
  const CLIPTextModelWithProjection& network = frame[block.text_encoder];
  int64_t window = frame[block.tokenizer].window(), width = network.hidden_size();
  if (is_zero(frame, block))
    return {at::zeros({1, window, width}, at::kFloat),
            at::zeros({1, network.projection_dim()}, at::kFloat)};
  switch (frame[block.syntax]) {
    case PromptSyntax::a1111:
      return weighted_pooled(frame, block, prompts);
    case PromptSyntax::compel:
      return composed_pooled(frame, block, prompts);
    case PromptSyntax::plain:
      break;
  }
  return pooled_states_of(frame, block, token_ids(frame[block.tokenizer], prompts));
}

Tensor first_states(Frame& frame, const EncodePromptFirst& block, const Texts& prompts) {
  auto encode = [&](const Tensor& ids) { return states_of(frame, block, ids); };
  switch (frame[block.syntax]) {
    case PromptSyntax::plain:
      return encode(token_ids(frame[block.tokenizer], prompts));
    case PromptSyntax::a1111:
      return weighted_states(weighted_rows(frame, block, prompts), encode);
    case PromptSyntax::compel:
      return composed_states(frame, block, prompts);
  }
  throw InternalError("a prompt syntax of no kind");
}

}  // namespace

void EncodePromptFirst::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
  check_syntax(checks, {syntax, steps}, checks.all_texts(prompt));
}

void EncodePromptFirst::check_loaded(Checks& checks) const {
  check_weighted_tokens(checks, {syntax, steps}, tokenizer, checks[text_encoder],
                        checks.all_texts(prompt));
}

void EncodePromptFirst::run(Frame& frame) const {
  const CLIPTextModel& network = frame[text_encoder];
  size_t images = frame[seeds].size();
  if (is_zero(frame, *this)) {
    frame[first_embeds] =
        at::zeros({static_cast<int64_t>(images), frame[tokenizer].window(), network.hidden_size()},
                  at::kFloat);
    frame[first_turns] = {};
    return;
  }
  TextTurns texts = text_turns(frame, *this, or_empty(frame[prompt]));
  std::vector<Tensor> turns;
  for (const Texts& turn : texts.prompts)
    turns.push_back(by_image(first_states(frame, *this, turn), images));
  frame[first_embeds] = turns.front();
  frame[first_turns] = stacked_turns(texts, {{states_input, turns}});
}

void EncodePromptSecond::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt_2), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
  check_seconds(checks);
}

// Both text encoders' states are joined along the channels, word by word.
void EncodePromptSecond::check_seconds(Checks& checks) const {
  if (checks[syntax] == PromptSyntax::plain)
    return warn_of_syntax(checks, checks.all_texts(prompt_2));
  for (const auto& [input, given] : checks.all_texts(prompt_2)) {
    // What replaces both prompts at once is one.
    if (!input.ends_with("_2") || given.empty() || given.front().empty()) continue;
    checks.error({"inputs." + input, given.front(),
                  fmt::format("prompt_syntax {} reads one prompt for both text encoders",
                              name_of(checks[syntax])),
                  "write all of it in " + input.substr(0, input.rfind("_2"))});
  }
}

void EncodePromptSecond::check_loaded(Checks& checks) const {
  check_turns(checks);
  if (checks[syntax] == PromptSyntax::plain)
    return check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt_2));
  check_weighted_tokens(checks, {syntax, steps}, tokenizer, checks[text_encoder],
                        checks.all_texts(prompt));
}

// What a saved run brings of the first text encoder.
void EncodePromptSecond::check_turns(Checks& checks) const {
  auto all = checks.restored(first_turns);
  auto embeds = checks.restored(first_embeds);
  for (size_t i = 0; i < all.size(); ++i) {
    const Tensor* first = i < embeds.size() ? embeds[i] : nullptr;
    std::string fault =
        all[i] ? blocks::turns_fault(*all[i], states_input, first, first_embeds.name()) : "";
    if (!fault.empty()) checks.refuse_restored(first_turns, fault);
  }
}

void EncodePromptSecond::run(Frame& frame) const {
  size_t images = frame[seeds].size();
  Texts prompts = second_prompts(frame[prompt_2], frame[prompt]);
  TextTurns texts = text_turns(frame, *this, prompts);
  const PromptTurns& first = frame[first_turns];
  if (first.by_step != texts.by_step) {
    throw InvalidRequest({"config.resume", "", "its prompts change at other steps than these",
                          "make the state anew"});
  }
  std::vector<Tensor> embeds, pooled;
  for (size_t i = 0; i < texts.prompts.size(); ++i) {
    Encoded second = encode_pooled(frame, *this, texts.prompts[i]);
    Tensor left = first.inputs.empty() ? frame[first_embeds]
                                       : first.inputs.at(states_input)[static_cast<int64_t>(i)];
    embeds.push_back(at::cat({left, by_image(second.states, images)}, 2));
    pooled.push_back(by_image(second.pooled, images));
  }
  frame[prompt_embeds] = embeds.front();
  frame[pooled_prompt_embeds] = pooled.front();
  frame[prompt_turns] = stacked_turns(texts, {{states_input, embeds}, {pooled_input, pooled}});
}

void EncodePromptAlone::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
  check_syntax(checks, {syntax, steps}, checks.all_texts(prompt));
}

void EncodePromptAlone::check_loaded(Checks& checks) const {
  check_weighted_tokens(checks, {syntax, steps}, tokenizer, checks[text_encoder],
                        checks.all_texts(prompt));
}

void EncodePromptAlone::run(Frame& frame) const {
  size_t images = frame[seeds].size();
  TextTurns texts = text_turns(frame, *this, or_empty(frame[prompt]));
  std::vector<Tensor> embeds, pooled;
  for (const Texts& turn : texts.prompts) {
    Encoded encoded = encode_pooled(frame, *this, turn);
    embeds.push_back(by_image(encoded.states, images));
    pooled.push_back(by_image(encoded.pooled, images));
  }
  frame[prompt_embeds] = embeds.front();
  frame[pooled_prompt_embeds] = pooled.front();
  frame[prompt_turns] = stacked_turns(texts, {{states_input, embeds}, {pooled_input, pooled}});
}

std::map<std::string, int64_t> TakeEncodedPromptXL::widths(const Checks& checks) const {
  auto widths = TakeEncodedPrompt::widths(checks);
  // What the UNet takes in addition to the numbers (CheckXL compares it with the text encoder).
  int64_t count = checks.holds(index_is("requires_aesthetics_score", true)) ? 5 : 6;
  widths["pooled_prompt_embeds"] =
      checks[unet].added_dim() - count * checks[unet].added_number_dim();
  return widths;
}

void TakeEncodedPromptXL::run(Frame& frame) const {
  TakeEncodedPrompt::run(frame);
  frame[pooled_prompt_embeds] = rows_of(frame, "pooled_prompt_embeds");
}

}  // namespace omnirt::families
