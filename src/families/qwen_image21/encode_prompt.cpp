#include "families/qwen_image21/encode_prompt.hpp"

#include <ATen/ops/tensor.h>
#include "blocks/padded_embeds.hpp"
#include "blocks/prompt_tokens.hpp"
#include "families/qwen_image21/words.hpp"

namespace omnirt::qwen_image21 {
void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[processor];
  if (!blocks::check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  check_lengths(checks, qwen, checks.all_texts(prompt));
}

Tensor EncodePrompt::states(Frame& frame, const std::string& text) const {
  const std::vector<int64_t> ids = instructed(frame[processor], text);
  const int64_t dropped = ids_of_instruction(frame[processor]);
  const Tensor all = host(frame.call(
      text_encoder, {{"ids", {at::tensor(ids, at::kLong).unsqueeze(0)}}},
      [](const Qwen3VLForConditionalGeneration& encoder, Context& cx, const Values& in) {
        const int64_t last = encoder.num_hidden_layers();
        return encoder.states(cx, one(in, "ids"), {.chosen = {last}, .normed = false}).front();
      },
      "before the norm"));
  return all.narrow(1, dropped, all.size(1) - dropped);
}

void EncodePrompt::run(Frame& frame) const {
  const blocks::PaddedEmbeds padded =
      blocks::padded_embeds(frame[prompt], frame[seeds].size(),
                            [&](const std::string& text) { return states(frame, text); });
  frame[prompt_embeds] = padded.embeds;
  if (padded.mask.defined()) frame[embeds_mask] = padded.mask;
}

}  // namespace omnirt::qwen_image21
