#include "families/flux2/encode_prompt.hpp"

#include <ATen/ops/cat.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "blocks/prompt_tokens.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::flux2 {
namespace {

constexpr size_t most_layers = 16;

std::vector<int64_t> chosen_layers(const std::optional<std::vector<int64_t>>& given) {
  return given.value_or(std::vector<int64_t>{9, 18, 27});
}

// Counted from the embedded tokens, 0; a negative one is counted from the last.
int64_t state_of(int64_t layer, const Qwen3ForCausalLM& encoder) {
  return layer < 0 ? layer + encoder.num_hidden_layers() + 1 : layer;
}

blocks::Encode messages_of(const text::Qwen2Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode_chat(text, field, length);
  };
}

// Whether the layers exist and return as many values as the transformer reads.
void check_layers(Checks& checks, const std::vector<int64_t>& layers,
                  const Qwen3ForCausalLM& encoder, int64_t read) {
  const int64_t most = encoder.num_hidden_layers();
  std::string shown = fmt::format("[{}]", fmt::join(layers, ", "));
  auto exists = [&](int64_t layer) {
    int64_t state = state_of(layer, encoder);
    return state >= 0 && state <= most;
  };
  if (layers.empty() || layers.size() > most_layers || !std::ranges::all_of(layers, exists)) {
    checks.error({"config.text_encoder_out_layers", shown,
                  fmt::format("the text encoder has {} layers", most),
                  fmt::format("give 1 to {} of {} to {}", most_layers, -most - 1, most)});
    return;
  }
  const int64_t made = encoder.hidden_size() * static_cast<int64_t>(layers.size());
  if (made != read) {
    checks.error({"config.text_encoder_out_layers", shown,
                  fmt::format("these states of the text encoder are {} values side by side; the "
                              "transformer reads {}",
                              made, read),
                  "use the text encoder of the same model, and as many layers as it was made for"});
  }
}

}  // namespace

void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  check_layers(checks, chosen_layers(checks.maybe(out_layers)), checks[text_encoder],
               checks[transformer].context_dim());
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

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  int64_t most = frame[length];
  auto tokens = blocks::masked_tokens(prompts, most, messages_of(frame[tokenizer], most));
  const std::vector<int64_t> layers = chosen_layers(frame.maybe(out_layers));
  Values states = frame.call(
      text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
      [&layers](const Qwen3ForCausalLM& encoder, Context& cx, const Values& in) -> Values {
        std::vector<int64_t> chosen;
        for (int64_t layer : layers) chosen.push_back(state_of(layer, encoder));
        return {{"states",
                 listed(encoder.hidden_states(cx, one(in, "ids"), &one(in, "mask"), chosen))}};
      },
      fmt::format("layers={}", fmt::join(layers, ",")));
  std::vector<Tensor> each;
  for (const Value& state : states.at("states")) each.push_back(host(state));
  Tensor embeds = at::cat(each, 2);
  // A prompt's images are adjacent; one negative prompt serves all.
  auto images = static_cast<int64_t>(frame[seeds].size());
  frame[prompt_embeds] = embeds.repeat_interleave(images / embeds.size(0), 0);
}

}  // namespace omnirt::flux2
