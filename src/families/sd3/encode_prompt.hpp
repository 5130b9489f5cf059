#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "families/sd3/slots.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/sd3_transformer_2d_model/model.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::sd3 {

// Prompts -> embeddings as Stable Diffusion 3 takes them (reference:
// StableDiffusion3Pipeline.encode_prompt), one row per image, for each condition that the guider
// asks for: the states before both CLIPs' last layers, not normalised, side by side and filled up
// with zeros to the width of T5's, which stand behind them.

// How wide the prompt as a whole is to a CLIP: its projection, where it has one.
int64_t pooled_width(const CLIPTextModel& encoder);

// The first text encoder's part.
class EncodePromptFirst final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer"};
  Component<CLIPTextModel> text_encoder{this, "text_encoder"};
  Config<int64_t> clip_skip{this, keys::clip_skip};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> first_embeds{this, first_prompt_embeds};
  Output<Tensor> first_pooled{this, first_pooled_embeds};

  EncodePromptFirst()
      : Block("encode_prompt_first", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit the window is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

// The second's, next to the first's, and the prompt as a whole.
class EncodePromptSecond final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer_2"};
  Component<CLIPTextModel> text_encoder{this, "text_encoder_2"};
  Config<int64_t> clip_skip{this, keys::clip_skip};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  OptionalInput<std::vector<std::string>> prompt_2{
      this, "prompt_2", "what the second text encoder reads in place of the prompt"};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<Tensor> first_embeds{this, first_prompt_embeds};
  Input<Tensor> first_pooled{this, first_pooled_embeds};
  Output<Tensor> clip_embeds{this, clip_prompt_embeds};
  Output<Tensor> pooled{this, pooled_prompt_embeds};

  EncodePromptSecond()
      : Block("encode_prompt_second", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
};

// T5's, behind both. The padding behind a prompt is read as its tokens are.
class EncodePromptThird final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer_3"};
  Component<T5EncoderModel> text_encoder{this, "text_encoder_3"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  OptionalInput<std::vector<std::string>> prompt_3{
      this, "prompt_3", "what the third text encoder reads in place of the prompt"};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<Tensor> clip_embeds{this, clip_prompt_embeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Described<SD3Transformer2DModel> transformer{this, "transformer"};

  explicit EncodePromptThird(Trigger trigger)
      : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
};

// Zeros in place of T5's part, for folders without it.
class EncodePromptWithoutThird final : public Block {
 public:
  Component<SD3Transformer2DModel> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  // Nothing reads it: so that it is refused with the reason.
  OptionalInput<std::vector<std::string>> prompt_3{this, "prompt_3", "what T5 would read"};
  Input<Tensor> clip_embeds{this, clip_prompt_embeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};

  explicit EncodePromptWithoutThird(Trigger trigger)
      : Block("encode_prompt_without_third", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

}  // namespace omnirt::sd3
