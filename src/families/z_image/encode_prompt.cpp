#include "families/z_image/encode_prompt.hpp"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/prompt_tokens.hpp"
#include "blocks/text_width.hpp"

namespace omnirt::z_image {
namespace {

// With the turn of the model that answers open, and no word on whether it thinks.
blocks::Encode questions_of(const text::Qwen2Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode_chat(text, field, length, text::Thinking::on);
  };
}

// Of the longest prompt, as far as it is not cut.
int64_t most_tokens(const std::vector<std::string>& prompts, const blocks::Encode& encode) {
  int64_t most = 1;
  for (const std::string& prompt : prompts)
    most = std::max<int64_t>(most, encode(prompt, "prompt").used);
  return most;
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

struct TextStates {
  Tensor embeds;  // {prompts, T, D}
  Tensor mask;    // {prompts, T}
};

// Each row's tokens at its front, wherever its padding was, and zeros after them.
TextStates tokens_in_front(const Tensor& states, const Tensor& mask) {
  TextStates made{at::zeros(states.sizes(), at::kFloat), at::zeros(mask.sizes(), at::kFloat)};
  for (int64_t row = 0; row < states.size(0); ++row) {
    Tensor kept = states[row].index_select(0, mask[row].nonzero().squeeze(1));
    made.embeds[row].narrow(0, 0, kept.size(0)).copy_(kept);
    made.mask[row].narrow(0, 0, kept.size(0)).fill_(1);
  }
  return made;
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
  // What follows a token does not change it, so that no padding beyond the longest is needed.
  int64_t most = most_tokens(prompts, questions_of(qwen, frame[length]));
  auto tokens = blocks::masked_tokens(prompts, most, questions_of(qwen, most));
  Tensor states = host(frame.call(
      text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
      [](const Qwen3ForCausalLM& encoder, Context& cx, const Values& in) -> Values {
        int64_t chosen = encoder.num_hidden_layers() - 1;
        return result(encoder.hidden_states(cx, one(in, "ids"), &one(in, "mask"), {chosen})[0]);
      },
      "last layer but one"));
  TextStates texts = tokens_in_front(states.to(at::kFloat), tokens.mask);
  // A prompt's images are adjacent; one negative prompt serves all.
  int64_t each = static_cast<int64_t>(frame[seeds].size()) / states.size(0);
  frame[prompt_embeds] = texts.embeds.repeat_interleave(each, 0);
  frame[mask] = texts.mask.repeat_interleave(each, 0);
}

}  // namespace omnirt::z_image
