#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::chroma {

inline constexpr Slot<Tensor> prompt_embeds_mask{
    "prompt_embeds_mask",
    "1 where a prompt has a token and for the first one behind it, 0 for the rest",
    {"B", "T"}};

// Prompts -> T5's states, {B, T, D}, one row per image, for each condition that the guider asks
// for. T5 does not see the padding; the transformer sees one of it (reference:
// ChromaPipeline._get_t5_prompt_embeds).
class EncodePrompt final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer"};
  Component<T5EncoderModel> text_encoder{this, "text_encoder"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> embeds_mask{this, prompt_embeds_mask};

  EncodePrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

}  // namespace omnirt::chroma
