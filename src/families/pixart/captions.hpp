#pragma once
#include "blocks/slots.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/tokenizer.hpp"

namespace omnirt::pixart {

// Prompts -> T5 embeddings and which of them are tokens, one row per image, for each condition that
// the guider asks for.
class EncodeCaption final : public Block {
 public:
  Component<text::Tokenizer> tokenizer{this, "tokenizer"};
  Component<T5EncoderModel> text_encoder{this, "text_encoder"};
  Config<int64_t> length;
  Config<bool> clean;
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> prompt_attention_mask{
      this, "prompt_attention_mask", "1 where the prompt has a token, 0 behind it", {"B", "T"}};

  EncodeCaption();
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

}  // namespace omnirt::pixart
