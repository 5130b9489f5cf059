#include "families/lumina2/encode_prompt.hpp"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/text_width.hpp"

namespace omnirt::lumina2 {
namespace {

// The reference refuses more.
constexpr int64_t most_length = 512;

// As the text encoder reads a prompt: the system's words come before it, if any.
blocks::Encode tokens_of(const text::GemmaTokenizer& tokenizer, int64_t length,
                         const std::string& before) {
  return [&tokenizer, length, before](const std::string& text, const std::string& field) {
    return tokenizer.encode_after(before, text, field, length);
  };
}

std::string before_prompts(const std::string& system) {
  return system + " <Prompt Start> ";
}

// Of the longest prompt, as far as it is not cut.
int64_t longest(const std::vector<std::string>& prompts, const blocks::Encode& encode) {
  int64_t most = 1;
  for (const std::string& prompt : prompts)
    most = std::max<int64_t>(most, encode(prompt, "prompt").used);
  return most;
}

}  // namespace

void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::check_text_width(checks, "text_encoder.hidden_size", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
  if (checks[length] <= most_length) return;
  checks.error({"config.max_sequence_length", std::to_string(checks[length]),
                fmt::format("more than {}", most_length), fmt::format("give {}", most_length)});
}

// Positions of a text begin at 0, and the image's are the one behind it.
void EncodePrompt::check_positions(Checks& checks, const Checks::NamedTexts& texts,
                                   const blocks::Encode& encode) const {
  const int64_t places = checks[transformer].axes_lens()[0];
  for (const std::string& text : texts.texts) {
    const int64_t tokens = encode(text, "inputs." + texts.input).used;
    if (tokens < places) continue;
    checks.error({"inputs." + texts.input, fmt::format("{} tokens", tokens),
                  fmt::format("the transformer has {} positions for a text and the image", places),
                  "shorten it, or lower max_sequence_length"});
  }
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::GemmaTokenizer& gemma = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, gemma, checks[text_encoder].vocab_size())) return;
  for (const Checks::NamedTexts& texts : checks.all_texts(prompt)) {
    const bool negative = texts.input != prompt.name();
    auto encode = tokens_of(gemma, checks[length], negative ? "" : before_prompts(checks[system]));
    blocks::warn_of_long_texts(
        checks, {texts}, fmt::format("{} tokens with those of the system prompt", checks[length]),
        encode);
    check_positions(checks, texts, encode);
  }
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  const text::GemmaTokenizer& gemma = frame[tokenizer];
  const std::string before = frame.renamed(prompt) ? "" : before_prompts(frame[system]);
  // What follows a token does not change it, so that no padding beyond the longest is needed.
  const int64_t most = longest(prompts, tokens_of(gemma, frame[length], before));
  auto tokens = blocks::masked_tokens(prompts, most, tokens_of(gemma, most, before));
  Tensor states = host(frame.call(
      text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
      [](const Gemma2Model& encoder, Context& cx, const Values& in) -> Values {
        const int64_t chosen = encoder.num_hidden_layers() - 1;
        return result(encoder.hidden_states(cx, one(in, "ids"), &one(in, "mask"), {chosen})[0]);
      },
      "last layer but one"));
  states = states.to(at::kFloat) * tokens.mask.unsqueeze(2);
  // A prompt's images are adjacent; one negative prompt serves all.
  const int64_t each = static_cast<int64_t>(frame[seeds].size()) / states.size(0);
  frame[prompt_embeds] = states.repeat_interleave(each, 0);
  frame[mask] = tokens.mask.repeat_interleave(each, 0);
}

}  // namespace omnirt::lumina2
