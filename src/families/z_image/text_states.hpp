#pragma once
#include <functional>
#include <string>
#include <vector>

#include "blocks/prompt_tokens.hpp"
#include "networks/qwen3_for_causal_lm/model.hpp"
#include "pipeline/frame.hpp"

namespace omnirt::z_image {

struct TextStates {
  Tensor embeds;  // {texts, T, D}: each row's tokens at its front, and zeros after them
  Tensor mask;    // {texts, T}: 1 for a token
};

// How texts become `length` ids each.
using EncodeTo = std::function<blocks::Encode(int64_t length)>;

// What the last layer but one of the language model makes of each text; T is the longest one's, and
// `most` at the most.
TextStates read_texts(Frame& frame, const Component<Qwen3ForCausalLM>& text_encoder,
                      const std::vector<std::string>& texts, int64_t most, const EncodeTo& encode);

// One row per image of a run, of one per prompt or of one for all: a prompt's images are adjacent.
TextStates per_image(const TextStates& texts, int64_t images);

}  // namespace omnirt::z_image
