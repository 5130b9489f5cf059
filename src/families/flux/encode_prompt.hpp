#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::flux {

inline constexpr Slot<Tensor> pooled_prompt_embeds{
    "pooled_prompt_embeds", "what the prompt means as a whole", {"B", "P"}};

// Prompts -> what CLIP pools of each, one row per image, for each condition that the guider asks
// for (reference: FluxPipeline._get_clip_prompt_embeds).
class EncodePooled final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer"};
  Component<CLIPTextModel> text_encoder{this, "text_encoder"};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> pooled{this, pooled_prompt_embeds};

  EncodePooled()
      : Block("encode_prompt_pooled", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit the window is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

// Prompts -> T5's states, {B, T, D}, likewise. The padding after a prompt is read as its tokens
// are (reference: _get_t5_prompt_embeds).
class EncodePrompt final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer_2"};
  Component<T5EncoderModel> text_encoder{this, "text_encoder_2"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  OptionalInput<std::vector<std::string>> prompt_2{
      this, "prompt_2", "what the second text encoder reads in place of the prompt"};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};

  EncodePrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
};

}  // namespace omnirt::flux
