#include "blocks/qwen_image_prompt.hpp"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/padded_embeds.hpp"
#include "blocks/prompt_tokens.hpp"

namespace omnirt::blocks {
namespace {

// As many tokens as the reference encodes; max_sequence_length is how many of them it uses.
constexpr size_t encoded_tokens_at_most = 1024;

// The ids of a prompt within the instruction that the model was trained with (reference:
// prompt_template_encode). Throws as Qwen2Tokenizer::encode.
std::vector<int64_t> instructed(const text::Qwen2Tokenizer& tokenizer, const std::string& prompt,
                                const std::string& field) {
  std::vector<int64_t> ids = tokenizer.encode_words(before_prompt + prompt + after_prompt, field);
  ids.resize(std::min(ids.size(), encoded_tokens_at_most + ids_before_prompt));
  return ids;
}

}  // namespace

EncodeQwenImagePrompt::EncodeQwenImagePrompt()
    : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition),
      length(this, keys::max_sequence_length) {}

void EncodeQwenImagePrompt::check(Checks& checks) const {
  check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  if (checks[length] > static_cast<int64_t>(encoded_tokens_at_most)) {
    checks.error({"config.max_sequence_length", std::to_string(checks[length]),
                  fmt::format("more than the {} tokens that are encoded", encoded_tokens_at_most),
                  fmt::format("give at most {}", encoded_tokens_at_most)});
  }
}

void EncodeQwenImagePrompt::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[tokenizer];
  if (!check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  int64_t most = checks[length];
  warn_of_long_texts(checks, checks.all_texts(prompt),
                     fmt::format("{} tokens with those that end the user's message", most),
                     [&](const std::string& text, const std::string& field) {
                       return qwen.encode(text, field, most);
                     });
}

Tensor EncodeQwenImagePrompt::states(Frame& frame, const std::string& text) const {
  std::vector<int64_t> ids = instructed(frame[tokenizer], text, "prompt");
  const auto count = static_cast<int64_t>(ids.size());
  Tensor all = host(
      frame.call(text_encoder, {{"ids", {at::tensor(ids, at::kLong).unsqueeze(0)}}},
                 [](const Qwen25VLForConditionalGeneration& encoder, Context& cx,
                    const Values& in) { return encoder.last_state(cx, one(in, "ids"), nullptr); }));
  const auto dropped = std::min(ids_before_prompt, count - 1);
  return all.narrow(1, dropped, std::min(count - dropped, frame[length]));
}

void EncodeQwenImagePrompt::run(Frame& frame) const {
  const PaddedEmbeds padded =
      padded_embeds(frame[prompt], frame[seeds].size(),
                    [&](const std::string& text) { return states(frame, text); });
  frame[prompt_embeds] = padded.embeds;
  if (padded.mask.defined()) frame[embeds_mask] = padded.mask;
}

}  // namespace omnirt::blocks
