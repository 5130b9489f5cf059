#include "families/aura_flow/encode_prompt.hpp"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include "blocks/prompt_tokens.hpp"
#include "blocks/text_width.hpp"

namespace omnirt::aura_flow {
namespace {

blocks::Encode tokens_of(const text::Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode(text, field, length);
  };
}

}  // namespace

void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::check_text_width(checks, "text_encoder.d_model", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::Tokenizer& llama = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, llama, checks[text_encoder].vocab_size())) return;
  blocks::warn_of_long_texts(checks, checks.all_texts(prompt),
                             fmt::format("{} tokens", checks[length]),
                             tokens_of(llama, checks[length]));
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  const int64_t most = frame[length];
  auto tokens = blocks::masked_tokens(prompts, most, tokens_of(frame[tokenizer], most));
  Tensor states = host(frame.call(text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
                                  [](const T5EncoderModel& encoder, Context& cx, const Values& in) {
                                    return encoder.forward(cx, one(in, "ids"), &one(in, "mask"));
                                  }));
  states = states.to(at::kFloat) * tokens.mask.unsqueeze(2);
  // A prompt's images are adjacent; one negative prompt serves all.
  const int64_t each = static_cast<int64_t>(frame[seeds].size()) / states.size(0);
  frame[prompt_embeds] = states.repeat_interleave(each, 0);
}

}  // namespace omnirt::aura_flow
