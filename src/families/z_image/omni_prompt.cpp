#include "families/z_image/omni_prompt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/text_width.hpp"
#include "families/z_image/text_states.hpp"

namespace omnirt::z_image {
namespace {

constexpr const char* user = "<|im_start|>user\n";
constexpr const char* answer = "<|im_end|>\n<|im_start|>assistant\n";
constexpr const char* vision_start = "<|vision_start|>";
constexpr const char* vision_end = "<|vision_end|>";
constexpr const char* end = "<|im_end|>";

blocks::Encode encode_as_it_is(const text::Qwen2Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode(text, field, length);
  };
}

// How many positions of the first axis a prompt of `tokens` needs with the texts around it, each of
// which is followed by places for an image and for what SigLIP2 sees of it.
int64_t positions_of(const OmniMessage& message, const blocks::Encode& others, int64_t tokens) {
  constexpr int64_t between = 2;
  int64_t at = 1, most = 0;
  auto add = [&](int64_t text) {
    most = std::max({most, at + ZImageTransformer2DModel::padded(text), at + text + between});
    at += text + between;
  };
  for (size_t i = 0; i <= message.others.size(); ++i) {
    if (i == message.images) add(tokens);
    if (i < message.others.size()) add(others(message.others[i], "prompt").used);
  }
  return most;
}

}  // namespace

OmniMessage::OmniMessage(size_t count) : images(count) {
  before = images == 0 ? user : vision_end;
  after = images == 0 ? std::string(answer) : std::string(answer) + vision_start;
  if (images == 0) return;
  others.push_back(std::string(user) + vision_start);
  for (size_t i = 1; i < images; ++i) others.push_back(std::string(vision_end) + vision_start);
  others.push_back(std::string(vision_end) + end);
}

blocks::Encode OmniMessage::encode(const text::Qwen2Tokenizer& tokenizer, int64_t length) const {
  return [this, &tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode(before + text + after, field, length);
  };
}

void EncodeOmniPrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::check_text_width(checks, "text_encoder.hidden_size", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
}

void EncodeOmniPrompt::check_loaded(Checks& checks) const {
  const text::Qwen2Tokenizer& qwen = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, qwen, checks[text_encoder].vocab_size())) return;
  const OmniMessage message(checks.image(image) ? 1 + checks.images(further).size() : 0);
  const int64_t most = checks[length], places = checks[transformer].axes_lens()[0];
  const blocks::Encode encode = message.encode(qwen, most);
  blocks::warn_of_long_texts(checks, checks.all_texts(prompt),
                             fmt::format("{} tokens with those around it", most), encode);
  for (const auto& [input, given] : checks.all_texts(prompt)) {
    for (const std::string& text : given) {
      const int64_t tokens = encode(text, "inputs." + input).used;
      if (positions_of(message, encode_as_it_is(qwen, most), tokens) <= places) continue;
      checks.error({"inputs." + input, fmt::format("{} tokens", tokens),
                    fmt::format("the transformer has {} positions for texts and images", places),
                    "shorten it, lower max_sequence_length, or give fewer images"});
    }
  }
}

void EncodeOmniPrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  const text::Qwen2Tokenizer& qwen = frame[tokenizer];
  const auto* more = frame[further];
  const OmniMessage message(frame[image] ? 1 + (more ? more->size() : 0) : 0);
  const TextStates texts =
      per_image(read_texts(frame, text_encoder, prompts, frame[length],
                           [&](int64_t ids) { return message.encode(qwen, ids); }),
                static_cast<int64_t>(frame[seeds].size()));
  frame[prompt_embeds] = texts.embeds;
  frame[mask] = texts.mask;
}

void EncodeCaptions::run(Frame& frame) const {
  const text::Qwen2Tokenizer& qwen = frame[tokenizer];
  const auto* more = frame[further];
  const OmniMessage message(1 + (more ? more->size() : 0));
  const TextStates made = read_texts(frame, text_encoder, message.others, frame[length],
                                     [&](int64_t ids) { return encode_as_it_is(qwen, ids); });
  std::vector<Value>& all = frame[texts];
  for (int64_t i = 0; i < made.embeds.size(0); ++i) {
    const auto tokens = made.mask[i].sum().item<int64_t>();
    all.emplace_back(made.embeds.narrow(0, i, 1).narrow(1, 0, tokens).contiguous(), Life::run);
  }
}

}  // namespace omnirt::z_image
