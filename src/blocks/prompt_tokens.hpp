#pragma once
#include <functional>
#include <string>
#include <vector>

#include "networks/clip_text_model/model.hpp"
#include "pipeline/checks.hpp"
#include "tensor/tensor.hpp"
#include "text/chat_tokenizer.hpp"
#include "text/tokenizer.hpp"

// What blocks that encode prompts share.
namespace omnirt::blocks {

// {prompts, window} int64.
Tensor token_ids(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts);

// How a block makes ids of a text, which is in `field` of the request.
using Encode =
    std::function<text::TokenizedPrompt(const std::string& text, const std::string& field)>;

struct MaskedTokens {
  Tensor ids;   // {prompts, length} int64
  Tensor mask;  // {prompts, length}: 1 for a token, 0 for padding
};
// `encode` returns `length` ids per prompt.
MaskedTokens masked_tokens(const std::vector<std::string>& prompts, int64_t length,
                           const Encode& encode);

// What comes in by a block's port, under each condition of the guider.
using Texts = std::vector<Checks::NamedTexts>;

// A finding for each input whose texts are neither one for all prompts, nor one per prompt.
void check_text_count(Checks& checks, const Texts& texts, size_t prompts);
// A finding when clip_skip leaves no layer of the text encoder.
void check_clip_skip(Checks& checks, const Config<int64_t>& clip_skip,
                     const CLIPTextModel& text_encoder);
// A finding when the tokenizer makes what the text encoder cannot take; else a warning for each
// prompt that does not fit the window and is cut, which quotes what is lost.
void check_tokens(Checks& checks, const Component<text::Tokenizer>& tokenizer,
                  const CLIPTextModel& text_encoder, const Texts& texts);

// False, and a finding, where a tokenizer has ids that its text encoder, with `entries`, lacks.
bool check_vocabulary(Checks& checks, const text::Tokenizer& tokenizer, int64_t entries);
// A warning where the tokenizer's chat template is of a kind that is not known.
void warn_of_unknown_template(Checks& checks, const text::ChatTokenizer& tokenizer);
// A warning for each text that `encode` cuts at max_sequence_length, which quotes what is lost.
// `unit`: what the length counts, "512 tokens".
void warn_of_long_texts(Checks& checks, const Texts& texts, const std::string& unit,
                        const Encode& encode);

}  // namespace omnirt::blocks
