#pragma once
#include <string>
#include <vector>

#include "blocks/qwen_image_prompt.hpp"
#include "blocks/slots.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::qwen_image21 {

// Prompts -> the states of a language model's last layer before its norm, without those of the
// instruction before them, {B, T, D}, one row per image, for each condition that the guider asks
// for (reference: QwenImage21Pipeline._get_qwen_prompt_embeds).
class EncodePrompt final : public Block {
 public:
  Component<text::Qwen2Tokenizer> processor{this, "processor"};
  Component<Qwen3VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> embeds_mask{this, blocks::prompt_embeds_mask};

  explicit EncodePrompt(Trigger trigger)
      : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // The reference cuts no prompt; one that is too long for its positions is refused.
  void check_loaded(Checks& checks) const override;

 private:
  // {1, T, D}.
  Tensor states(Frame& frame, const std::string& text) const;
};

}  // namespace omnirt::qwen_image21
