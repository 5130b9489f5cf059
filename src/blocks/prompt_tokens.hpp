#pragma once
#include <string>
#include <vector>

#include "networks/clip_text_model/model.hpp"
#include "pipeline/checks.hpp"
#include "tensor/tensor.hpp"
#include "text/tokenizer.hpp"

// What blocks that encode prompts share.
namespace omnirt::blocks {

// {prompts, window} int64.
Tensor token_ids(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts);

// What comes in by a block's port, under each condition of the guider.
using Texts = std::vector<Checks::NamedTexts>;

// A finding for each input whose texts are neither one for all prompts, nor one per prompt.
void check_text_count(Checks& checks, const Texts& texts, size_t prompts);
// A finding when clip_skip leaves no layer of the text encoder.
void check_clip_skip(Checks& checks, const Config<int64_t>& clip_skip,
                     const CLIPTextModel& text_encoder);
// A finding when the tokenizer gives what the text encoder cannot take; else a warning for each
// prompt that does not fit the window and is cut, which quotes what is lost.
void check_tokens(Checks& checks, const Component<text::Tokenizer>& tokenizer,
                  const CLIPTextModel& text_encoder, const Texts& texts);

}  // namespace omnirt::blocks
