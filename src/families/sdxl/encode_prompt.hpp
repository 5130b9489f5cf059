#pragma once
#include "blocks/encoded_prompt.hpp"
#include "families/sdxl/keys.hpp"
#include "families/sdxl/slots.hpp"
#include "networks/clip_text_model/model.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/prompt_keys.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::families {

// Prompts -> embeddings as Stable Diffusion XL takes them (reference:
// StableDiffusionXLPipeline.encode_prompt), one row per image, for each condition that the guider
// asks for: the states before a text encoder's last layer, not normalised. Without a negative
// prompt they are zeros where the model says so.
// With prompt_syntax a1111, as diffusers' community pipeline lpw_stable_diffusion_xl makes them:
// {B, T, D} with as many tokens as the longest prompt has, the whole prompt's from the last window,
// and no zeros. With compel, as CompelForSDXL makes them: whole windows, the pooled embedding that
// of the prompt as it is written, and no zeros.

// The first text encoder's part.
class EncodePromptFirst final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer"};
  Component<CLIPTextModel> text_encoder{this, "text_encoder"};
  Config<int64_t> clip_skip{this, keys::clip_skip};
  Config<PromptSyntax> syntax{this, keys::prompt_syntax};
  Config<int64_t> steps{this, keys::num_inference_steps};
  Config<bool> force_zeros{this, keys::force_zeros_for_empty_prompt};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> first_embeds{this, xl_slots::first_prompt_embeds};
  Output<blocks::PromptTurns> first_turns{this, xl_slots::first_prompt_turns};

  explicit EncodePromptFirst(Trigger trigger)
      : Block("encode_prompt_first", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
};

// The second text encoder's part, after the first's, and the prompt as a whole.
class EncodePromptSecond final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer_2"};
  Component<CLIPTextModelWithProjection> text_encoder{this, "text_encoder_2"};
  Config<int64_t> clip_skip{this, keys::clip_skip};
  Config<PromptSyntax> syntax{this, keys::prompt_syntax};
  Config<int64_t> steps{this, keys::num_inference_steps};
  Config<bool> force_zeros{this, keys::force_zeros_for_empty_prompt};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  OptionalInput<std::vector<std::string>> prompt_2{
      this, "prompt_2", "what the second text encoder reads in place of the prompt"};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<Tensor> first_embeds{this, xl_slots::first_prompt_embeds};
  Input<blocks::PromptTurns> first_turns{this, xl_slots::first_prompt_turns};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> pooled_prompt_embeds{this, xl_slots::pooled_prompt_embeds};
  Output<blocks::PromptTurns> prompt_turns{this, slots::prompt_turns};

  explicit EncodePromptSecond(Trigger trigger)
      : Block("encode_prompt_second", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;

 private:
  void check_seconds(Checks& checks) const;
  void check_turns(Checks& checks) const;
};

// The refiner's: it has the second text encoder only.
class EncodePromptAlone final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer_2"};
  Component<CLIPTextModelWithProjection> text_encoder{this, "text_encoder_2"};
  Config<int64_t> clip_skip{this, keys::clip_skip};
  Config<PromptSyntax> syntax{this, keys::prompt_syntax};
  Config<int64_t> steps{this, keys::num_inference_steps};
  Config<bool> force_zeros{this, keys::force_zeros_for_empty_prompt};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> pooled_prompt_embeds{this, xl_slots::pooled_prompt_embeds};
  Output<blocks::PromptTurns> prompt_turns{this, slots::prompt_turns};

  explicit EncodePromptAlone(Trigger trigger)
      : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
};

// Prompts that come encoded, with what they mean as a whole.
class TakeEncodedPromptXL final : public blocks::TakeEncodedPrompt {
 public:
  Output<Tensor> pooled_prompt_embeds{this, xl_slots::pooled_prompt_embeds};

  void run(Frame& frame) const override;

 protected:
  std::map<std::string, int64_t> widths(const Checks& checks) const override;
};

}  // namespace omnirt::families
