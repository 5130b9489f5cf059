#pragma once
#include "blocks/prompt_turns.hpp"
#include "blocks/slots.hpp"
#include "networks/clip_text_model/model.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/prompt_keys.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::blocks {

// Prompts -> CLIP embeddings, one row per image, for each condition that the guider asks for.
class EncodePrompt final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer"};
  Component<CLIPTextModel> text_encoder{this, "text_encoder"};
  Config<int64_t> clip_skip{this, keys::clip_skip};
  Config<PromptSyntax> syntax{this, keys::prompt_syntax};
  Config<int64_t> steps{this, keys::num_inference_steps};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<PromptTurns> prompt_turns{this, slots::prompt_turns};

  explicit EncodePrompt(Trigger trigger = {})
      : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit the window is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;

 private:
  // {prompts, T, D}, as the syntax says.
  Tensor states(Frame& frame, const std::vector<std::string>& prompts) const;
  Tensor plain(Frame& frame, const std::vector<std::string>& prompts) const;
  // {prompts, windows * T, D}, by a1111's syntax and by compel's.
  Tensor weighted(Frame& frame, const std::vector<std::string>& prompts) const;
  Tensor composed(Frame& frame, const std::vector<std::string>& prompts) const;
  Tensor states_of(Frame& frame, const Tensor& ids, int64_t skip) const;
};

}  // namespace omnirt::blocks
