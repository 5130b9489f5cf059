#include "blocks/encode_prompt.hpp"

#include <fmt/format.h>

#include "blocks/compel_prompts.hpp"
#include "blocks/weighted_prompts.hpp"

namespace omnirt::blocks {

void EncodePrompt::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
  check_syntax(checks, {syntax, steps}, checks.all_texts(prompt));
}

void EncodePrompt::check_loaded(Checks& checks) const {
  check_weighted_tokens(checks, {syntax, steps}, tokenizer, checks[text_encoder],
                        checks.all_texts(prompt));
}

Tensor EncodePrompt::states_of(Frame& frame, const Tensor& ids, int64_t skip) const {
  return host(frame.call(
      text_encoder, {{"ids", {ids}}},
      [skip](const CLIPTextModel& encoder, Context& cx, const Values& in) {
        return encoder.forward(cx, one(in, "ids"), {.clip_skip = skip}).last_hidden_state;
      },
      fmt::format("clip_skip={}", skip)));
}

Tensor EncodePrompt::plain(Frame& frame, const std::vector<std::string>& prompts) const {
  // The reference skips layers for the prompt itself, never for what replaces it.
  int64_t skip = frame.renamed(prompt) ? 0 : frame[clip_skip];
  return states_of(frame, token_ids(frame[tokenizer], prompts), skip);
}

// This reference skips them for both.
Tensor EncodePrompt::weighted(Frame& frame, const std::vector<std::string>& prompts) const {
  int64_t tokens = most_tokens(frame[tokenizer], frame.under_each(prompt), frame[steps]);
  WeightedRows rows = rows_of_windows(frame[tokenizer], prompts, tokens);
  Tensor states = states_of(frame, rows.windows, frame[clip_skip]);
  return weigh_by_mean(states.reshape({rows.weights.size(0), rows.weights.size(1), -1}),
                       rows.weights);
}

Tensor EncodePrompt::composed(Frame& frame, const std::vector<std::string>& prompts) const {
  int64_t windows = most_compel_windows(frame[tokenizer], frame.under_each(prompt));
  int64_t skip = frame[clip_skip];
  return compel_states(
      frame[tokenizer], prompts, windows, [&](const Tensor& ids, const Tensor& mask) {
        return host(frame.call(
            text_encoder, {{"ids", {ids}}, {"mask", {mask}}},
            [skip](const CLIPTextModel& encoder, Context& cx, const Values& in) {
              CLIPTextOptions options{.clip_skip = skip, .mask = &one(in, "mask")};
              return encoder.forward(cx, one(in, "ids"), options).last_hidden_state;
            },
            fmt::format("masked, clip_skip={}", skip)));
      });
}

Tensor EncodePrompt::states(Frame& frame, const std::vector<std::string>& prompts) const {
  switch (frame[syntax]) {
    case PromptSyntax::plain:
      return plain(frame, prompts);
    case PromptSyntax::a1111:
      return weighted(frame, prompts);
    case PromptSyntax::compel:
      return composed(frame, prompts);
  }
  throw InternalError("a prompt syntax of no kind");
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  auto images = static_cast<int64_t>(frame[seeds].size());
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  TextTurns texts{{prompts}, {}};
  if (frame[syntax] == PromptSyntax::a1111) texts = turns_of(prompts, "prompt", frame[steps]);
  std::vector<Tensor> turns;
  for (const std::vector<std::string>& turn : texts.prompts) {
    Tensor embeds = states(frame, turn);
    // A prompt's images are adjacent; one negative prompt serves all.
    turns.push_back(embeds.repeat_interleave(images / embeds.size(0), 0));
  }
  frame[prompt_embeds] = turns.front();
  frame[prompt_turns] = stacked_turns(texts, {{"encoder_hidden_states", turns}});
}

}  // namespace omnirt::blocks
