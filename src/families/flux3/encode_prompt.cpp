#include "families/flux3/encode_prompt.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "blocks/padded_embeds.hpp"
#include "blocks/prompt_tokens.hpp"

namespace omnirt::flux3 {
namespace {

// Windows of text are multiples of this many tokens (reference: Flux3TextEncoderStep.pad_multiple).
constexpr int64_t window_multiple = 80;
// Where padding is (there: position_ids, as the model was trained).
constexpr double padding_position = 1;

std::vector<int64_t> chosen_layers(const std::optional<std::vector<int64_t>>& given) {
  return given.value_or(std::vector<int64_t>{4, 8, 12, 16, 20, 24, 28, 32});
}

// With the turn of the model that answers open, and no word on whether it thinks.
blocks::Encode messages_of(const text::Qwen2Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode_chat(text, field, length, text::Thinking::on);
  };
}

// A prompt's tokens, the first of its padding, and how long its window is.
struct Tokens {
  Tensor ids, mask, positions;
  int64_t window = 0;
};

// All padding is in one place, and sees the prompt's tokens alone: one of it stands for all.
Tokens tokens_of(const text::Qwen2Tokenizer& tokenizer, const std::string& text, int64_t most) {
  text::TokenizedPrompt made = messages_of(tokenizer, most)(text, "prompt");
  const int64_t windows = (made.used + window_multiple - 1) / window_multiple;
  const int64_t window = std::min(windows * window_multiple, most);
  const bool padded = made.used < window;
  auto from = made.ids.begin() + made.first;
  std::vector<int64_t> ids(from, from + made.used);
  if (padded) ids.push_back(tokenizer.pad_id());
  const auto count = static_cast<int64_t>(ids.size());
  Tokens tokens{at::tensor(ids, at::kLong).unsqueeze(0), at::ones({1, count}, at::kFloat),
                at::arange(count, at::kFloat).unsqueeze(1), window};
  if (padded) {
    tokens.mask.select(1, count - 1).fill_(0);
    tokens.positions.select(0, count - 1).fill_(padding_position);
  }
  return tokens;
}

// {1, T, D} with its last token as often as fills the window.
Tensor filled_up(const Tensor& states, int64_t window) {
  const int64_t tokens = states.size(1);
  if (tokens == window) return states;
  Tensor padding = states.narrow(1, tokens - 1, 1).expand({1, window - tokens, states.size(2)});
  return at::cat({states, padding}, 1);
}

}  // namespace

void EncodePrompt::check(Checks& checks) const {
  const auto& encoder = checks[text_encoder];
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::check_layers(checks, {.chosen = chosen_layers(checks.maybe(out_layers)),
                                .layers = encoder.num_hidden_layers(),
                                .width = encoder.hidden_size(),
                                .read = checks[transformer].context_dim()});
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  blocks::warn_of_unknown_template(checks, qwen);
  blocks::warn_of_long_texts(
      checks, checks.all_texts(prompt),
      fmt::format("{} tokens with those of the conversation around it", checks[length]),
      messages_of(qwen, checks[length]));
}

Tensor EncodePrompt::states(Frame& frame, const std::string& text) const {
  const Tokens tokens = tokens_of(frame[tokenizer], text, frame[length]);
  const std::vector<int64_t> layers = chosen_layers(frame.maybe(out_layers));
  Values made = frame.call(
      text_encoder,
      {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}, {"positions", {tokens.positions}}},
      [&layers](const Qwen3VLForConditionalGeneration& encoder, Context& cx,
                const Values& in) -> Values {
        std::vector<int64_t> chosen;
        for (int64_t layer : layers)
          chosen.push_back(blocks::state_of(layer, encoder.num_hidden_layers()));
        return {{"states", listed(encoder.hidden_states(cx, one(in, "ids"), &one(in, "mask"),
                                                        chosen, &one(in, "positions")))}};
      },
      fmt::format("layers={}", fmt::join(layers, ",")));
  std::vector<Tensor> each;
  for (const Value& state : made.at("states")) each.push_back(host(state));
  return filled_up(at::cat(each, 2), tokens.window);
}

void EncodePrompt::run(Frame& frame) const {
  const blocks::PaddedEmbeds padded =
      blocks::padded_embeds(frame[prompt], frame[seeds].size(),
                            [&](const std::string& text) { return states(frame, text); });
  frame[prompt_embeds] = padded.embeds;
  frame[window] = padded.whole_mask();
}

}  // namespace omnirt::flux3
