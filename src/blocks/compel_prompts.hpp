#pragma once
#include <functional>

#include "tensor/tensor.hpp"
#include "text/tokenizer.hpp"

// Prompts in compel's syntax, as compel 2.5.1 makes embeddings of them with long prompts not cut
// (CompelForSD, CompelForSDXL; embeddings_provider.py, compel.py).
namespace omnirt::blocks {

// Calls of a text encoder that a prompt may need, in windows.
inline constexpr int64_t max_encoded_windows = 256;

// Windows that the embeddings of a prompt have. Throws InvalidRequest under `field` for what
// text::parse_compel refuses, for more than max_windows, and for a prompt that takes more than
// max_encoded_windows: each part of a weight below 1 takes its whole prompt once more.
int64_t compel_windows(const text::Tokenizer& tokenizer, const std::string& text,
                       const std::string& field);
// The most that a prompt has under any condition: all are filled up to as many.
int64_t most_compel_windows(const text::Tokenizer& tokenizer,
                            const std::vector<const std::vector<std::string>*>& texts);

// The text encoder's states {n, window, D} of ids {n, window} int64, where no token attends to one
// that has 0 in mask {n, window}.
using MaskedStates = std::function<Tensor(const Tensor& ids, const Tensor& mask)>;

// {prompts, windows * window, D}. A prompt's words are moved from the empty prompt's states by
// their weights; for each part of a weight below 1 the result is mixed with what the prompt is
// without it, by tan((1 - weight) pi / 2). Windows end after a sentence where there is one, else
// after a phrase, else a word.
Tensor compel_states(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts,
                     int64_t windows, const MaskedStates& states);

}  // namespace omnirt::blocks
