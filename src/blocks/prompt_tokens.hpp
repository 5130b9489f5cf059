#pragma once
#include <string>
#include <vector>

#include "pipeline/loaded_pipeline.hpp"
#include "tensor/tensor.hpp"
#include "text/tokenizer.hpp"

namespace omnirt {
struct Proposal;
}

// What blocks that encode prompts share.
namespace omnirt::blocks {

// {prompts, window} int64.
Tensor token_ids(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts);

// A finding unless the texts of `input` are one for all prompts, or one per prompt.
void check_text_count(Proposal& proposal, const std::string& input);
// A finding when clip_skip leaves no layer of the text encoder.
void check_clip_skip(Proposal& proposal, const std::string& text_encoder);
// A finding when the tokenizer gives what the text encoder cannot take; else true.
bool check_tokenizer(Proposal& proposal, const LoadedPipeline& pipeline,
                     const std::string& tokenizer, const std::string& text_encoder);
// A prompt that does not fit the window is cut; the warning quotes what is lost. `inputs`: those
// that this tokenizer reads.
void warn_of_cuts(Proposal& proposal, const text::Tokenizer& tokenizer,
                  const std::vector<std::string>& inputs);

}  // namespace omnirt::blocks
