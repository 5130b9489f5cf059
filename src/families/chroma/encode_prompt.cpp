#include "families/chroma/encode_prompt.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <fmt/format.h>

#include "blocks/prompt_tokens.hpp"

namespace omnirt::chroma {
namespace {

// The reference refuses more.
constexpr int64_t most_tokens = 512;

blocks::Encode t5_tokens_of(const text::Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode(text, field, length);
  };
}

// mask {B, T}, whose ones come first; with one more of them, if there is room.
Tensor with_one_padding(const Tensor& mask) {
  Tensor first = at::ones_like(mask.narrow(1, 0, 1));
  return at::cat({first, mask.narrow(1, 0, mask.size(1) - 1)}, 1);
}

}  // namespace

void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  if (checks[length] <= most_tokens) return;
  checks.error({"config.max_sequence_length", std::to_string(checks[length]),
                fmt::format("more than {}", most_tokens), fmt::format("give {}", most_tokens)});
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::Tokenizer& t5 = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, t5, checks[text_encoder].vocab_size())) return;
  blocks::warn_of_long_texts(checks, checks.all_texts(prompt),
                             fmt::format("{} tokens", checks[length]),
                             t5_tokens_of(t5, checks[length]));
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  const int64_t most = frame[length];
  auto tokens = blocks::masked_tokens(prompts, most, t5_tokens_of(frame[tokenizer], most));
  Tensor embeds = host(frame.call(text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
                                  [](const T5EncoderModel& encoder, Context& cx, const Values& in) {
                                    return encoder.forward(cx, one(in, "ids"), &one(in, "mask"));
                                  }));
  // A prompt's images are adjacent; one negative prompt serves all.
  const int64_t each = static_cast<int64_t>(frame[seeds].size()) / embeds.size(0);
  frame[prompt_embeds] = embeds.repeat_interleave(each, 0);
  frame[embeds_mask] = with_one_padding(tokens.mask).repeat_interleave(each, 0);
}

}  // namespace omnirt::chroma
