#include "families/z_image/encode_prompt.hpp"

#include <fmt/format.h>

#include "blocks/text_width.hpp"
#include "families/z_image/text_states.hpp"

namespace omnirt::z_image {
namespace {

// With the turn of the model that answers open, and no word on whether it thinks.
blocks::Encode questions_of(const text::Qwen2Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode_chat(text, field, length, text::Thinking::on);
  };
}

// A finding for each text that the transformer has no positions for: those of the text begin at 1,
// and the image's follows them.
void check_positions(Checks& checks, const blocks::Texts& texts, int64_t places,
                     const blocks::Encode& encode) {
  for (const auto& [input, given] : texts) {
    for (const std::string& text : given) {
      int64_t tokens = encode(text, "inputs." + input).used;
      if (ZImageTransformer2DModel::padded(tokens) + 1 < places) continue;
      checks.error(
          {"inputs." + input, fmt::format("{} tokens", tokens),
           fmt::format("the transformer has {} positions for a text and the image", places),
           "shorten it, or lower max_sequence_length"});
    }
  }
}

}  // namespace

void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::check_text_width(checks, "text_encoder.hidden_size", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  blocks::warn_of_unknown_template(checks, qwen);
  blocks::warn_of_long_texts(
      checks, checks.all_texts(prompt),
      fmt::format("{} tokens with those of the conversation around it", checks[length]),
      questions_of(qwen, checks[length]));
  check_positions(checks, checks.all_texts(prompt), checks[transformer].axes_lens()[0],
                  questions_of(qwen, checks[length]));
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  const text::Qwen2Tokenizer& qwen = frame[tokenizer];
  const TextStates texts =
      per_image(read_texts(frame, text_encoder, prompts, frame[length],
                           [&qwen](int64_t ids) { return questions_of(qwen, ids); }),
                static_cast<int64_t>(frame[seeds].size()));
  frame[prompt_embeds] = texts.embeds;
  frame[mask] = texts.mask;
}

}  // namespace omnirt::z_image
