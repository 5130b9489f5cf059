#include "families/flux2/encode_prompt.hpp"

#include <ATen/ops/cat.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "blocks/prompt_tokens.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::flux2 {
namespace {

// Before each prompt (reference: pipelines/flux2/system_messages.py, SYSTEM_MESSAGE).
constexpr const char* system_message =
    "You are an AI that reasons about image descriptions. You give structured responses focusing "
    "on object relationships, object\nattribution and actions without speculation.";

template <class Prompts>
std::vector<int64_t> chosen_layers(const std::optional<std::vector<int64_t>>& given) {
  return given.value_or(std::vector<int64_t>(Prompts::layers.begin(), Prompts::layers.end()));
}

template <class Prompts>
blocks::Encode messages_of(const typename Prompts::Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return Prompts::encode(tokenizer, text, field, length);
  };
}

}  // namespace

text::TokenizedPrompt QwenPrompts::encode(const Tokenizer& tokenizer, const std::string& text,
                                          const std::string& field, int64_t length) {
  return tokenizer.encode_chat(text, field, length);
}

text::TokenizedPrompt MistralPrompts::encode(const Tokenizer& tokenizer, const std::string& text,
                                             const std::string& field, int64_t length) {
  constexpr std::string_view place = "[IMG]";  // of an image, which a prompt has none of
  std::string words = text;
  for (size_t at = 0; (at = words.find(place, at)) != std::string::npos;)
    words.erase(at, place.size());
  return tokenizer.encode_chat(system_message, words, field, length);
}

template <class Prompts>
void EncodePrompt<Prompts>::check(Checks& checks) const {
  const auto& encoder = checks[text_encoder];
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::check_layers(checks, {.chosen = chosen_layers<Prompts>(checks.maybe(out_layers)),
                                .layers = encoder.num_hidden_layers(),
                                .width = encoder.hidden_size(),
                                .read = checks[transformer].context_dim()});
}

template <class Prompts>
void EncodePrompt<Prompts>::check_loaded(Checks& checks) const {
  const auto& loaded = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, loaded, checks[text_encoder].vocab_size())) return;
  blocks::warn_of_unknown_template(checks, loaded);
  blocks::warn_of_long_texts(
      checks, checks.all_texts(prompt),
      fmt::format("{} tokens with those of the conversation around it", checks[length]),
      messages_of<Prompts>(loaded, checks[length]));
}

template <class Prompts>
void EncodePrompt<Prompts>::run(Frame& frame) const {
  using Encoder = typename Prompts::Encoder;
  std::vector<std::string> prompts = frame[prompt];
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  int64_t most = frame[length];
  auto tokens = blocks::masked_tokens(prompts, most, messages_of<Prompts>(frame[tokenizer], most));
  const std::vector<int64_t> layers = chosen_layers<Prompts>(frame.maybe(out_layers));
  Values states = frame.call(
      text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
      [&layers](const Encoder& encoder, Context& cx, const Values& in) -> Values {
        std::vector<int64_t> chosen;
        for (int64_t layer : layers)
          chosen.push_back(blocks::state_of(layer, encoder.num_hidden_layers()));
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

template class EncodePrompt<QwenPrompts>;
template class EncodePrompt<MistralPrompts>;

}  // namespace omnirt::flux2
