#include "families/pixart/captions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/prompt_tokens.hpp"
#include "families/pixart/keys.hpp"
#include "io/utf8.hpp"
#include "text/unicode.hpp"

namespace omnirt::pixart {
namespace {

// What Python's str.strip takes away: white space, and the separators of ASCII.
bool is_stripped(char32_t c) {
  return (c >= 0x1C && c <= 0x1F) || text::char_class(c) == text::CharClass::space;
}

blocks::Encode captions_of(const text::Tokenizer& tokenizer, int64_t length) {
  return [&tokenizer, length](const std::string& text, const std::string& field) {
    return tokenizer.encode(as_caption(text), field, length);
  };
}

}  // namespace

std::string as_caption(const std::string& prompt) {
  if (io::find_invalid_utf8(prompt) != std::string::npos) return prompt;
  std::u32string lower;
  for (char32_t c : text::to_utf32(prompt)) text::append_lower(lower, c);
  auto begin = std::ranges::find_if_not(lower, is_stripped);
  auto end =
      std::find_if_not(lower.rbegin(), std::make_reverse_iterator(begin), is_stripped).base();
  std::string caption;
  for (auto it = begin; it != end; ++it) io::append_utf8(caption, *it);
  return caption;
}

EncodeCaption::EncodeCaption()
    : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition),
      length(this, keys::max_sequence_length),
      clean(this, clean_caption) {}

void EncodeCaption::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  if (checks[clean]) {
    checks.error({"config.clean_caption", "true", "cleaning captions is not implemented",
                  "set it to false: prompts are lower-cased and stripped"});
  }
}

void EncodeCaption::check_loaded(Checks& checks) const {
  const text::Tokenizer& t5 = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, t5, checks[text_encoder].vocab_size())) return;
  blocks::warn_of_long_texts(checks, checks.all_texts(prompt),
                             fmt::format("{} tokens", checks[length]),
                             captions_of(t5, checks[length]));
}

void EncodeCaption::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  auto count = static_cast<int64_t>(frame[seeds].size());
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  int64_t most = frame[length];
  auto tokens = blocks::masked_tokens(prompts, most, captions_of(frame[tokenizer], most));
  Tensor embeds = host(frame.call(text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
                                  [](const T5EncoderModel& encoder, Context& cx, const Values& in) {
                                    return encoder.forward(cx, one(in, "ids"), &one(in, "mask"));
                                  }));
  // A prompt's images are adjacent; one negative prompt serves all.
  int64_t each = count / embeds.size(0);
  frame[prompt_embeds] = embeds.repeat_interleave(each, 0);
  frame[prompt_attention_mask] = tokens.mask.repeat_interleave(each, 0);
}

}  // namespace omnirt::pixart
