#pragma once
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "networks/qwen3_for_causal_lm/model.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::flux2 {

inline constexpr Key<std::vector<int64_t>> text_encoder_out_layers{
    "text_encoder_out_layers",
    std::monostate{},
    {-257, 256},
    "text-encoder-out-layers",
    "layers of the text encoder whose states the model reads, side by side: 0 the embedded tokens, "
    "-1 the last layer; default: [9, 18, 27]"};

// Prompts -> what some layers of a language model make of each as a user's message, {B, T, states *
// hidden_size}, one row per image, for each condition that the guider asks for (reference:
// _get_qwen3_prompt_embeds). Padding after a prompt has states, too, which the model reads.
class EncodePrompt final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen3ForCausalLM> text_encoder{this, "text_encoder"};
  Described<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Config<std::vector<int64_t>> out_layers{this, text_encoder_out_layers};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};

  EncodePrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

}  // namespace omnirt::flux2
