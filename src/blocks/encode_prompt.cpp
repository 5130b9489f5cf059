#include "blocks/encode_prompt.hpp"

#include <fmt/format.h>

#include "blocks/weighted_prompts.hpp"

namespace omnirt::blocks {

void EncodePrompt::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
  check_syntax(checks, syntax, checks.all_texts(prompt));
}

void EncodePrompt::check_loaded(Checks& checks) const {
  check_weighted_tokens(checks, syntax, tokenizer, checks[text_encoder], checks.all_texts(prompt));
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
  // The reference skips layers for the prompt itself, never for what stands in for it.
  int64_t skip = frame.renamed(prompt) ? 0 : frame[clip_skip];
  return states_of(frame, token_ids(frame[tokenizer], prompts), skip);
}

// This reference skips them for both.
Tensor EncodePrompt::weighted(Frame& frame, const std::vector<std::string>& prompts) const {
  int64_t tokens = most_tokens(frame[tokenizer], frame.under_each(prompt));
  WeightedRows rows = rows_of_windows(frame[tokenizer], prompts, tokens);
  Tensor states = states_of(frame, rows.windows, frame[clip_skip]);
  return weigh_by_mean(states.reshape({rows.weights.size(0), rows.weights.size(1), -1}),
                       rows.weights);
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  auto pictures = static_cast<int64_t>(frame[seeds].size());
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  Tensor embeds =
      frame[syntax] == PromptSyntax::plain ? plain(frame, prompts) : weighted(frame, prompts);
  // A prompt's pictures stand together; one negative prompt serves all.
  frame[prompt_embeds] = embeds.repeat_interleave(pictures / embeds.size(0), 0);
}

}  // namespace omnirt::blocks
