#pragma once
#include <string>
#include <vector>

#include "blocks/encoder_layers.hpp"
#include "blocks/slots.hpp"
#include "networks/flux3_transformer_2d_model/model.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::flux3 {

inline constexpr Slot<Tensor> prompt_window{
    "prompt_window", "1 as far as a prompt's window of tokens goes, 0 behind it", {"B", "T"}};

// Prompts -> what some layers of a language model make of each as a user's message, {B, T, states *
// hidden_size}, one row per image, for each condition that the guider asks for (reference:
// Flux3TextEncoderStep). A prompt's window is its tokens and padding up to a multiple of 80, which
// the transformer reads, too; behind it, for longer prompts of the same request, there is nothing.
class EncodePrompt final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen3VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Described<Flux3Transformer2DModel> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Config<std::vector<int64_t>> out_layers{this, blocks::text_encoder_out_layers};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> window{this, prompt_window};

  EncodePrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;

 private:
  Tensor states(Frame& frame, const std::string& text) const;
};

}  // namespace omnirt::flux3
