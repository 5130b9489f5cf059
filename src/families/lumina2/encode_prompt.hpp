#pragma once
#include <string>
#include <vector>

#include "blocks/prompt_tokens.hpp"
#include "blocks/slots.hpp"
#include "networks/gemma2_model/model.hpp"
#include "networks/lumina2_transformer_2d_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/gemma_tokenizer.hpp"

namespace omnirt::lumina2 {

inline constexpr Key<std::string> system_prompt{
    "system_prompt",
    "You are an assistant designed to generate superior images with the superior degree of "
    "image-text alignment based on textual prompts or user prompts.",
    {},
    "system-prompt",
    "what the text encoder reads before each prompt, and not before a negative one"};

inline constexpr Slot<Tensor> prompt_attention_mask{
    "prompt_attention_mask", "1 where the prompt has a token, 0 behind it", {"B", "T"}};

// Prompts -> what the last layer but one of Gemma 2 makes of each after the system's words, {B, T,
// hidden_size}, and which of these are tokens (reference: Lumina2Pipeline.encode_prompt); one row
// per image, for each condition that the guider asks for. T is the longest prompt's.
class EncodePrompt final : public Block {
 public:
  Component<text::GemmaTokenizer> tokenizer{this, "tokenizer"};
  Component<Gemma2Model> text_encoder{this, "text_encoder"};
  Described<Lumina2Transformer2DModel> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Config<std::string> system{this, system_prompt};
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
  void check_positions(Checks& checks, const Checks::NamedTexts& texts,
                       const blocks::Encode& encode) const;
};

}  // namespace omnirt::lumina2
