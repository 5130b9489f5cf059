#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::blocks {

// The instruction that a prompt stands in, and how many of its ids are before the prompt, whose
// states are dropped (reference: prompt_template_encode, prompt_template_encode_start_idx).
inline constexpr const char* before_prompt =
    "<|im_start|>system\nDescribe the image by detailing the color, shape, size, texture, "
    "quantity, text, spatial relationships of the objects and background:<|im_end|>\n"
    "<|im_start|>user\n";
inline constexpr const char* after_prompt = "<|im_end|>\n<|im_start|>assistant\n";
inline constexpr int64_t ids_before_prompt = 34;

inline constexpr Slot<Tensor> prompt_embeds_mask{
    "prompt_embeds_mask",
    "1 where a prompt has a token, 0 behind it; absent where all are as long",
    {"B", "T"}};

// Prompts -> the last states of a language model that is asked to describe an image so, {B, T, D},
// one row per image, for each condition that the guider asks for (reference:
// QwenImagePipeline._get_qwen_prompt_embeds).
class EncodeQwenImagePrompt final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen25VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Config<int64_t> length;
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> embeds_mask{this, prompt_embeds_mask};

  EncodeQwenImagePrompt();
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;

 private:
  // {1, T, D}.
  Tensor states(Frame& frame, const std::string& text) const;
};

}  // namespace omnirt::blocks
