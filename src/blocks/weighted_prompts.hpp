#pragma once
#include "blocks/prompt_tokens.hpp"
#include "pipeline/prompt_keys.hpp"

// Prompts whose words have weights, and that may be longer than a text encoder's window: the
// a1111 syntax, as diffusers' community pipelines lpw_stable_diffusion (rows_of_windows,
// weigh_by_mean) and lpw_stable_diffusion_xl (rows_of_words, weigh_from_last) read it.
namespace omnirt::blocks {

// The ids that enclose words.
struct FrameIds {
  int64_t begin = 0, end = 0, pad = 0;
};
FrameIds frame_ids(const text::Tokenizer& tokenizer);

// Words that a prompt may have, in windows of the text encoder.
inline constexpr int64_t max_windows = 16;

// A prompt's ids, without what encloses them, and a weight for each.
struct WeightedTokens {
  std::vector<int64_t> ids;
  std::vector<float> weights;
};
// `filler` fills what a BREAK leaves of a window. Throws InvalidRequest under `field` for what
// text::parse_a1111 refuses, and for more than max_windows.
WeightedTokens weighted_tokens(const text::Tokenizer& tokenizer, const std::string& text,
                               const std::string& field, int64_t filler);

// The most ids that a prompt has under any condition at any of `steps`: all are filled up to as
// many.
int64_t most_tokens(const text::Tokenizer& tokenizer,
                    const std::vector<const std::vector<std::string>*>& texts, int64_t steps);

// Prompts as rows for a text encoder. `windows` {prompts * n, window} are whole windows, a prompt's
// one after the other; `rest` {prompts, at most window} is after them, and may be undefined.
// `weights` {prompts, T}: of all of a prompt's states in a row.
struct WeightedRows {
  Tensor windows, rest, weights;
};
// Of as many windows as `tokens` ids need, the last one filled up with padding.
WeightedRows rows_of_windows(const text::Tokenizer& tokenizer,
                             const std::vector<std::string>& prompts, int64_t tokens);
// Of just `tokens` ids, filled up with the end token: the last window is shorter.
WeightedRows rows_of_words(const text::Tokenizer& tokenizer,
                           const std::vector<std::string>& prompts, int64_t tokens);

// states {n, T, D} times weights {n, T}, scaled so that the mean over a prompt stays.
Tensor weigh_by_mean(const Tensor& states, const Tensor& weights);
// A window's states {n, T, D}, moved from its last one by weights {n, T}.
Tensor weigh_from_last(const Tensor& states, const Tensor& weights);

// Texts that a plain prompt takes for words, and another syntax would not: a warning each.
void warn_of_syntax(Checks& checks, const Texts& texts);
// How prompts are read, as a block's config says it.
struct PromptReading {
  const Config<PromptSyntax>& syntax;
  const Config<int64_t>& steps;
};
// What the syntax does not allow; before anything is loaded.
void check_syntax(Checks& checks, const PromptReading& reading, const Texts& texts);
// check_tokens for the syntax.
void check_weighted_tokens(Checks& checks, const PromptReading& reading,
                           const Component<text::Tokenizer>& tokenizer,
                           const CLIPTextModel& text_encoder, const Texts& texts);

}  // namespace omnirt::blocks
