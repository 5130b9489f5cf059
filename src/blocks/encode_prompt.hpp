#pragma once
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
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};

  EncodePrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit the window is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;

 private:
  Tensor plain(Frame& frame, const std::vector<std::string>& prompts) const;
  // {prompts, windows * T, D}
  Tensor weighted(Frame& frame, const std::vector<std::string>& prompts) const;
  Tensor states_of(Frame& frame, const Tensor& ids, int64_t skip) const;
};

}  // namespace omnirt::blocks
