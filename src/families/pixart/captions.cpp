#include "families/pixart/captions.hpp"

#include <fmt/format.h>

#include "blocks/captions.hpp"
#include "blocks/prompt_tokens.hpp"

namespace omnirt::pixart {
namespace {

blocks::Encode captions_of(const text::Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode(blocks::as_caption(text), field, length);
  };
}

}  // namespace

EncodeCaption::EncodeCaption()
    : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition),
      length(this, keys::max_sequence_length),
      clean(this, keys::clean_caption) {}

void EncodeCaption::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::refuse_clean_caption(checks, clean);
}

void EncodeCaption::check_loaded(Checks& checks) const {
  const text::Tokenizer& t5 = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, t5, checks[text_encoder].vocab_size())) return;
  blocks::warn_of_long_texts(checks, checks.all_texts(prompt),
                             fmt::format("{} tokens", checks[length]),
                             captions_of(t5, checks[length]));
}

void EncodeCaption::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  auto count = static_cast<int64_t>(frame[seeds].size());
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  int64_t most = frame[length];
  auto tokens = blocks::masked_tokens(prompts, most, captions_of(frame[tokenizer], most));
  Tensor embeds = host(frame.call(text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
                                  [](const T5EncoderModel& encoder, Context& cx, const Values& in) {
                                    return encoder.forward(cx, one(in, "ids"), &one(in, "mask"));
                                  }));
  // A prompt's images are adjacent; one negative prompt serves all.
  int64_t each = count / embeds.size(0);
  frame[prompt_embeds] = embeds.repeat_interleave(each, 0);
  frame[prompt_attention_mask] = tokens.mask.repeat_interleave(each, 0);
}

}  // namespace omnirt::pixart
