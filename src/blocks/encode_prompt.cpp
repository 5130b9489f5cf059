#include "blocks/encode_prompt.hpp"

#include <fmt/format.h>

#include "blocks/prompt_tokens.hpp"

namespace omnirt::blocks {

void EncodePrompt::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_clip_skip(checks, clip_skip, checks[text_encoder]);
}

void EncodePrompt::check_loaded(Checks& checks) const {
  check_tokens(checks, tokenizer, checks[text_encoder], checks.all_texts(prompt));
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  auto pictures = static_cast<int64_t>(frame[seeds].size());
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  Tensor ids = token_ids(frame[tokenizer], prompts);
  // The reference skips layers for the prompt itself, never for what stands in for it.
  int64_t skip = frame.renamed(prompt) ? 0 : frame[clip_skip];
  Tensor embeds = host(frame.call(
      text_encoder, {{"ids", {ids}}},
      [skip](const CLIPTextModel& encoder, Context& cx, const Values& in) {
        return encoder.forward(cx, one(in, "ids"), {.clip_skip = skip}).last_hidden_state;
      },
      fmt::format("clip_skip={}", skip)));
  // A prompt's pictures stand together; one negative prompt serves all.
  frame[prompt_embeds] = embeds.repeat_interleave(pictures / embeds.size(0), 0);
}

}  // namespace omnirt::blocks
