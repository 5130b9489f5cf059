#include "families/pixart/captions.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "families/pixart/keys.hpp"
#include "io/utf8.hpp"
#include "request/proposal.hpp"
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

void EncodeCaption::check(Proposal& proposal) const {
  auto negative = proposal.texts.find("negative_prompt");
  size_t prompts = proposal.texts_of("prompt").size();
  if (negative != proposal.texts.end() && negative->second.size() != 1 &&
      negative->second.size() != prompts) {
    proposal.error({"inputs.negative_prompt", fmt::format("{} texts", negative->second.size()),
                    fmt::format("{} prompts were given", prompts),
                    "give one for all, or one per prompt"});
  }
  if (proposal.config.get(clean_caption)) {
    proposal.error({"config.clean_caption", "true", "cleaning captions is not implemented",
                    "set it to false: prompts are lower-cased and stripped"});
  }
}

void EncodeCaption::check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const {
  const auto& t5 = pipeline.get<text::Tokenizer>(tokenizer.name());
  const auto& encoder = pipeline.get<T5EncoderModel>(text_encoder.name());
  if (t5.vocab_size() > encoder.vocab_size()) {
    proposal.error({"model.tokenizer", fmt::format("{} entries", t5.vocab_size()),
                    fmt::format("the text encoder has {} entries", encoder.vocab_size()),
                    "use the tokenizer of the same model"});
    return;
  }
  int64_t most = proposal.config.get(keys::max_sequence_length);
  for (const auto& [name, prompts] : proposal.texts) {
    for (const std::string& given : prompts) {
      text::TokenizedPrompt tokenized = t5.encode(as_caption(given), "inputs." + name, most);
      if (tokenized.cut.empty()) continue;
      proposal.warn({"inputs." + name, tokenized.cut,
                     fmt::format("the prompt is longer than max_sequence_length, {} tokens; this "
                                 "end was cut off",
                                 most),
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
