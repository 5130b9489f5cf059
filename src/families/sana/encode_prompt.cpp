#include "families/sana/encode_prompt.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/text_width.hpp"

namespace omnirt::sana {
namespace {

// More than any instruction has.
constexpr int64_t whole_text = 1 << 14;

// How prompts become tokens after an instruction: of all that the encoder reads, the first token
// and those from `from` on are kept.
class Reading {
 public:
  Reading(const text::GemmaTokenizer& tokenizer, std::string before, int64_t length)
      : tokenizer_(tokenizer), before_(std::move(before)) {
    if (before_.empty()) {
      most_ = length;
      from_ = 1;
      return;
    }
    // The reference counts the instruction by itself: its last token may be another in front of a
    // prompt, and two fewer are kept.
    const int64_t own =
        tokenizer.encode(before_, "config.complex_human_instruction", whole_text).used;
    most_ = std::max<int64_t>(own + length - 2, 1);
    from_ = std::max<int64_t>(own - 1, 1);
  }

  int64_t most() const { return most_; }
  int64_t from() const { return from_; }
  // As many ids as `count`.
  blocks::Encode of(int64_t count) const {
    return [this, count](const std::string& text, const std::string& field) {
      return tokenizer_.encode_after(before_, blocks::as_caption(text), field, count);
    };
  }
  // Of the longest prompt, as far as it is not cut.
  int64_t longest(const std::vector<std::string>& prompts) const {
    int64_t most = 1;
    for (const std::string& prompt : prompts)
      most = std::max<int64_t>(most, of(most_)(prompt, "prompt").used);
    return most;
  }

 private:
  const text::GemmaTokenizer& tokenizer_;
  std::string before_;
  int64_t most_ = 1, from_ = 1;
};

// {rows, kept, ...} of {rows, tokens, ...}.
Tensor kept(const Tensor& all, int64_t from) {
  Tensor first = all.narrow(1, 0, 1);
  const int64_t tokens = all.size(1);
  return from < tokens ? at::cat({first, all.narrow(1, from, tokens - from)}, 1) : first;
}

}  // namespace

void EncodePrompt::check(Checks& checks) const {
  blocks::check_text_count(checks, checks.all_texts(prompt), checks.texts(prompt).size());
  blocks::refuse_clean_caption(checks, clean);
  blocks::check_text_width(checks, "text_encoder.hidden_size", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
}

void EncodePrompt::check_loaded(Checks& checks) const {
  const text::GemmaTokenizer& gemma = checks[tokenizer];
  if (!blocks::check_vocabulary(checks, gemma, checks[text_encoder].vocab_size())) return;
  for (const Checks::NamedTexts& texts : checks.all_texts(prompt)) {
    const bool negative = texts.input != prompt.name();
    const Reading reading(gemma, negative ? "" : checks[instruction], checks[length]);
    blocks::warn_of_long_texts(checks, {texts}, fmt::format("{} tokens", checks[length]),
                               reading.of(reading.most()));
  }
}

void EncodePrompt::run(Frame& frame) const {
  std::vector<std::string> prompts = frame[prompt];
  if (prompts.empty()) prompts.emplace_back();  // no negative prompt means the empty one
  const Reading reading(frame[tokenizer], frame.renamed(prompt) ? "" : frame[instruction],
                        frame[length]);
  // What follows a token does not change it, so that no padding beyond the longest is needed.
  const int64_t most = reading.longest(prompts);
  auto tokens = blocks::masked_tokens(prompts, most, reading.of(most));
  Tensor states = host(frame.call(
      text_encoder, {{"ids", {tokens.ids}}, {"mask", {tokens.mask}}},
      [](const Gemma2Model& encoder, Context& cx, const Values& in) -> Values {
        const int64_t last = encoder.num_hidden_layers();
        return result(encoder.hidden_states(cx, one(in, "ids"), &one(in, "mask"), {last})[0]);
      }));
  const Tensor is_token = kept(tokens.mask, reading.from());
  states = kept(states.to(at::kFloat), reading.from()) * is_token.unsqueeze(2);
  // A prompt's images are adjacent; one negative prompt serves all.
  const int64_t each = static_cast<int64_t>(frame[seeds].size()) / states.size(0);
  frame[prompt_embeds] = states.repeat_interleave(each, 0);
  frame[mask] = is_token.repeat_interleave(each, 0);
}

}  // namespace omnirt::sana
