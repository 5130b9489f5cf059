#include "families/krea2/encode_prompt.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "blocks/padded_embeds.hpp"
#include "blocks/prompt_tokens.hpp"
#include "blocks/qwen_image_prompt.hpp"

namespace omnirt::krea2 {
namespace {

// How many of a prompt's ids are behind it (reference: prompt_template_encode_num_suffix_tokens).
constexpr int64_t ids_behind = 5;

// Those of Qwen3-VL 4B (reference: Krea2Pipeline.__init__).
const std::vector<int64_t>& usual_layers() {
  static const std::vector<int64_t> layers{2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 32, 35};
  return layers;
}

// The ids of a prompt within the instruction that the model was trained with, of which the prompt
// is cut. Throws as Qwen2Tokenizer::encode.
std::vector<int64_t> instructed(const text::Qwen2Tokenizer& tokenizer, const std::string& prompt,
                                int64_t length) {
  std::vector<int64_t> ids = tokenizer.encode_words(blocks::before_prompt + prompt, "prompt");
  ids.resize(
      std::min(ids.size(), static_cast<size_t>(length + blocks::ids_before_prompt - ids_behind)));
  const std::vector<int64_t> end = tokenizer.encode_words(blocks::after_prompt, "prompt");
  ids.insert(ids.end(), end.begin(), end.end());
  return ids;
}

}  // namespace

// The request's layers, or the folder's, or the reference's.
void EncodePrompt::take_index(Checks& checks) const {
  if (checks.maybe(layers)) return;
  std::vector<int64_t> chosen = usual_layers();
  const Json said = checks.model_index().value(layers.name(), Json());
  const bool numbers = said.is_array() && std::ranges::all_of(said, [](const Json& each) {
                         return each.is_number_integer();
                       });
  if (numbers) chosen = said.get<std::vector<int64_t>>();
  checks.settle(layers, chosen, Origin::model);
}

void EncodePrompt::check(Checks& checks) const {
  take_index(checks);
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  const auto& encoder = checks[text_encoder];
  const auto& network = checks[transformer];
  if (encoder.hidden_size() != network.text_hidden_dim()) {
    checks.error(
        {"text_encoder.hidden_size", std::to_string(encoder.hidden_size()),
         fmt::format("the transformer reads states of {} values", network.text_hidden_dim()),
         "use the text encoder of the same model"});
  }
  const std::vector<int64_t>& chosen = checks[layers];
  const auto count = static_cast<int64_t>(chosen.size());
  auto exists = [&](int64_t layer) { return layer >= 0 && layer <= encoder.num_hidden_layers(); };
  if (count == network.num_text_layers() && std::ranges::all_of(chosen, exists)) return;
  checks.error(
      {"config.text_encoder_select_layers", fmt::format("[{}]", fmt::join(chosen, ", ")),
       fmt::format("the transformer reads {} layers of a text encoder that has {}",
                   network.num_text_layers(), encoder.num_hidden_layers()),
       fmt::format("give {} of 0 to {}", network.num_text_layers(), encoder.num_hidden_layers())});
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  const int64_t most = std::max<int64_t>(checks[length] - ids_behind, 1);
  blocks::warn_of_long_texts(
      checks, checks.all_texts(prompt),
      fmt::format("{} tokens with those that end the user's message", checks[length]),
      [&](const std::string& text, const std::string& field) {
        return qwen.encode(text, field, most);
      });
}

Tensor EncodePrompt::states(Frame& frame, const std::string& text) const {
  const std::vector<int64_t> ids = instructed(frame[tokenizer], text, frame[length]);
  const std::vector<int64_t> chosen = frame[layers];
  Values made = frame.call(
      text_encoder, {{"ids", {at::tensor(ids, at::kLong).unsqueeze(0)}}},
      [&chosen](const Qwen3VLForConditionalGeneration& encoder, Context& cx,
                const Values& in) -> Values {
        return {{"states", listed(encoder.hidden_states(cx, one(in, "ids"), nullptr, chosen))}};
      },
      fmt::format("layers={}", fmt::join(chosen, ",")));
  std::vector<Tensor> each;
  for (const Value& state : made.at("states")) each.push_back(host(state));
  const Tensor all = at::cat(each, 2);
  return all.narrow(1, blocks::ids_before_prompt, all.size(1) - blocks::ids_before_prompt);
}

void EncodePrompt::run(Frame& frame) const {
  const blocks::PaddedEmbeds padded =
      blocks::padded_embeds(frame[prompt], frame[seeds].size(),
                            [&](const std::string& text) { return states(frame, text); });
  frame[prompt_embeds] = padded.embeds;
  frame[mask] = padded.whole_mask();
}

}  // namespace omnirt::krea2
