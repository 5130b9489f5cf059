#pragma once
#include <string>
#include <vector>

#include "blocks/captions.hpp"
#include "blocks/prompt_tokens.hpp"
#include "blocks/slots.hpp"
#include "networks/gemma2_model/model.hpp"
#include "networks/sana_transformer_2d_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/gemma_tokenizer.hpp"

namespace omnirt::sana {

inline constexpr Key<std::string> complex_human_instruction{
    "complex_human_instruction",
    "Given a user prompt, generate an 'Enhanced prompt' that provides detailed visual descriptions "
    "suitable for image generation. Evaluate the level of detail in the user prompt:\n"
    "- If the prompt is simple, focus on adding specifics about colors, shapes, sizes, textures, "
    "and spatial relationships to create vivid and concrete scenes.\n"
    "- If the prompt is already detailed, refine and enhance the existing details slightly without "
    "overcomplicating.\n"
    "Here are examples of how to transform or refine prompts:\n"
    "- User Prompt: A cat sleeping -> Enhanced: A small, fluffy white cat curled up in a round "
    "shape, sleeping peacefully on a warm sunny windowsill, surrounded by pots of blooming red "
    "flowers.\n"
    "- User Prompt: A busy city street -> Enhanced: A bustling city street scene at dusk, "
    "featuring "
    "glowing street lamps, a diverse crowd of people in colorful clothing, and a double-decker bus "
    "passing by towering glass skyscrapers.\n"
    "Please generate only the enhanced description for the prompt below and avoid including any "
    "additional commentary or evaluations:\n"
    "User Prompt: ",
    {},
    "complex-human-instruction",
    "what the text encoder reads before each prompt, and not before a negative one; the "
    "reference's "
    "list of lines, with line breaks between them; empty: nothing"};

inline constexpr Slot<Tensor> prompt_attention_mask{
    "prompt_attention_mask", "1 where the prompt has a token, 0 behind it", {"B", "T"}};

// Prompts -> what Gemma 2 makes of each after an instruction, {B, T, hidden_size}, and which of
// these are tokens (reference: SanaPipeline.encode_prompt); one row per image, for each condition
// that the guider asks for. The instruction's own tokens are left out but the first, and T is the
// longest prompt's: the transformer does not look at the reference's padding.
class EncodePrompt final : public Block {
 public:
  Component<text::GemmaTokenizer> tokenizer{this, "tokenizer"};
  Component<Gemma2Model> text_encoder{this, "text_encoder"};
  Described<SanaTransformer2DModel> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Config<std::string> instruction{this, complex_human_instruction};
  Config<bool> clean{this, keys::clean_caption};
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

}  // namespace omnirt::sana
