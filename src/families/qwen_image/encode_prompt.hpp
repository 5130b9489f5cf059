#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::qwen_image {

inline constexpr Slot<Tensor> prompt_embeds_mask{
    "prompt_embeds_mask",
    "1 where a prompt has a token, 0 behind it; absent where all are as long",
    {"B", "T"}};

// The ids of a prompt within the instruction that the model was trained with, and the number of
// those before the prompt, whose states are dropped (reference: prompt_template_encode,
// prompt_template_encode_start_idx). Throws as Qwen2Tokenizer::encode.
inline constexpr size_t dropped_tokens = 34;
std::vector<int64_t> instructed(const text::Qwen2Tokenizer& tokenizer, const std::string& prompt,
                                const std::string& field);

// Prompts -> the last states of a language model that is asked to describe an image so, {B, T, D},
// one row per image, for each condition that the guider asks for (reference:
// QwenImagePipeline._get_qwen_prompt_embeds).
class EncodePrompt final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen25VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Config<int64_t> length;
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> embeds_mask{this, prompt_embeds_mask};

  EncodePrompt();
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;

 private:
  // {1, T, D}.
  Tensor states(Frame& frame, const std::string& text) const;
};

}  // namespace omnirt::qwen_image
