#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "networks/aura_flow_transformer_2d_model/model.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::aura_flow {

// Prompts -> UMT5's states of max_sequence_length tokens, {B, T, D}, zeros where there is none,
// which the transformer attends to as to any other (reference: AuraFlowPipeline.encode_prompt); one
// row per image, for each condition that the guider asks for.
class EncodePrompt final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer"};
  Component<T5EncoderModel> text_encoder{this, "text_encoder"};
  Described<AuraFlowTransformer2DModel> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};

  EncodePrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

}  // namespace omnirt::aura_flow
