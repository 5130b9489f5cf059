#include "blocks/encode_prompt.hpp"

#include <fmt/format.h>

#include "blocks/prompt_tokens.hpp"
#include "request/proposal.hpp"

namespace omnirt::blocks {
void EncodePrompt::check(Proposal& proposal) const {
  check_text_count(proposal, "negative_prompt");
  check_clip_skip(proposal, text_encoder.name());
}

void EncodePrompt::check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const {
  if (!check_tokenizer(proposal, pipeline, tokenizer.name(), text_encoder.name())) return;
  warn_of_cuts(proposal, pipeline.get<text::Tokenizer>(tokenizer.name()),
               {"prompt", "negative_prompt"});
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
