#include "families/qwen_image21/encode_prompt.hpp"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include "blocks/padded_embeds.hpp"
#include "blocks/prompt_tokens.hpp"

namespace omnirt::qwen_image21 {
namespace {

// Reference: QwenImage21Pipeline.sys_prompt, prompt_template_t2i.
constexpr const char* instruction =
    "<|im_start|>system\nComprehend and analyze the provided prompt.<|im_end|>\n";
// As many places as the reference's transformer has for text (QwenImage21Rope).
constexpr size_t most_tokens = 8192;

// The ids of a message of a user. Qwen has no token that begins a text: an empty one is a space.
std::vector<int64_t> instructed(const text::Qwen2Tokenizer& tokenizer, const std::string& prompt) {
  const std::string message = "<|im_start|>user\n" + (prompt.empty() ? " " : prompt);
  return tokenizer.encode_words(instruction + message + blocks::after_prompt, "prompt");
}

}  // namespace

void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[processor];
  if (!blocks::check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  for (const Checks::NamedTexts& each : checks.all_texts(prompt)) {
    for (const std::string& text : each.texts) {
      const size_t tokens = instructed(qwen, text).size();
      if (tokens <= most_tokens) continue;
      checks.error({"inputs." + each.input, fmt::format("{} tokens", tokens),
                    fmt::format("more than the {} that the model has places for", most_tokens),
                    "shorten it"});
    }
  }
}

Tensor EncodePrompt::states(Frame& frame, const std::string& text) const {
  const std::vector<int64_t> ids = instructed(frame[processor], text);
  const auto dropped =
      static_cast<int64_t>(frame[processor].encode_words(instruction, "prompt").size());
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
