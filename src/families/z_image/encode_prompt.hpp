#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "networks/qwen3_for_causal_lm/model.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::z_image {

inline constexpr Slot<Tensor> prompt_attention_mask{
    "prompt_attention_mask", "1 where the prompt has a token, 0 behind it", {"B", "T"}};

// Prompts -> what the last layer but one of a language model makes of each as a user's message,
// {B, T, hidden_size}, and which of these are tokens (reference: ZImagePipeline._encode_prompt);
// one row per image, for each condition that the guider asks for. T is the longest prompt's.
class EncodePrompt final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen3ForCausalLM> text_encoder{this, "text_encoder"};
  Described<ZImageTransformer2DModel> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> mask{this, prompt_attention_mask};

  EncodePrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

}  // namespace omnirt::z_image
