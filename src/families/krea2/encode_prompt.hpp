#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "networks/krea2_transformer_2d_model/model.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::krea2 {

inline constexpr Slot<Tensor> prompt_attention_mask{
    "prompt_attention_mask", "1 where the prompt has a token, 0 behind it", {"B", "T"}};

inline constexpr Key<std::vector<int64_t>> text_encoder_select_layers{
    "text_encoder_select_layers",
    std::monostate{},
    {0, 256},
    "text-encoder-select-layers",
    "layers of the text encoder whose states the model reads, 0 the embedded tokens; if omitted, "
    "those that the model's folder says"};

// Prompts -> what some layers of a language model that is asked to describe an image make of each,
// {B, T, layers * hidden_size}, and which of these are tokens; one row per image, for each
// condition that the guider asks for (reference: Krea2Pipeline.get_text_hidden_states). The
// reference puts padding before the instruction's end, where neither the encoder nor the
// transformer looks at it; here there is none, and T is the longest prompt's.
class EncodePrompt final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen3VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Described<Krea2Transformer2DModel> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Config<std::vector<int64_t>> layers{this, text_encoder_select_layers};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> mask{this, prompt_attention_mask};

  EncodePrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;

 private:
  void take_index(Checks& checks) const;
  // {1, T, layers * D}.
  Tensor states(Frame& frame, const std::string& text) const;
};

}  // namespace omnirt::krea2
