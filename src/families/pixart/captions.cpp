#include "families/pixart/captions.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
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

struct Tokens {
  Tensor ids;   // {prompts, length} int64
  Tensor mask;  // {prompts, length}: 1 a token, 0 padding
};

Tokens tokens_of(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts,
                 int64_t length) {
  auto count = static_cast<int64_t>(prompts.size());
  Tokens made{at::empty({count, length}, at::kLong), at::zeros({count, length})};
  for (int64_t i = 0; i < count; ++i) {
    std::string caption = as_caption(prompts[static_cast<size_t>(i)]);
    text::TokenizedPrompt tokenized = tokenizer.encode(caption, "prompt", length);
    std::ranges::copy(tokenized.ids, made.ids.mutable_data_ptr<int64_t>() + i * length);
    made.mask[i].narrow(0, 0, tokenized.used).fill_(1);
  }
  return made;
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
  const T5EncoderModel& encoder = checks[text_encoder];
  if (t5.vocab_size() > encoder.vocab_size()) {
    checks.error({"model.tokenizer", fmt::format("{} entries", t5.vocab_size()),
                  fmt::format("the text encoder has {} entries", encoder.vocab_size()),
                  "use the tokenizer of the same model"});
    return;
  }
  for (const auto& [input, prompts] : checks.all_texts(prompt)) {
    for (const std::string& given : prompts) {
      text::TokenizedPrompt tokenized =
          t5.encode(as_caption(given), "inputs." + input, checks[length]);
      if (tokenized.cut.empty()) continue;
      checks.warn({"inputs." + input, tokenized.cut,
                   fmt::format("the prompt is longer than max_sequence_length, {} tokens; this "
                               "end was cut off",
                               checks[length]),
                   "shorten the prompt, or raise max_sequence_length"});
    }
  }
}

void EncodeCaption::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  auto pictures = static_cast<int64_t>(frame[seeds].size());
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  Tokens tokens = tokens_of(frame[tokenizer], prompts, frame[length]);
  Tensor embeds = host(frame.call(text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
                                  [](const T5EncoderModel& encoder, Context& cx, const Values& in) {
                                    return encoder.forward(cx, one(in, "ids"), &one(in, "mask"));
                                  }));
  // A prompt's pictures stand together; one negative prompt serves all.
  int64_t each = pictures / embeds.size(0);
  frame[prompt_embeds] = embeds.repeat_interleave(each, 0);
  frame[prompt_attention_mask] = tokens.mask.repeat_interleave(each, 0);
}

}  // namespace omnirt::pixart
