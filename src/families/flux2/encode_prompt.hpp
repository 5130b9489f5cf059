#pragma once
#include <array>
#include <string>
#include <vector>

#include "blocks/encoder_layers.hpp"
#include "blocks/slots.hpp"
#include "networks/mistral3_for_conditional_generation/model.hpp"
#include "networks/qwen3_for_causal_lm/model.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/mistral_tokenizer.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::flux2 {

// What FLUX.2's language models are asked, by class.
struct QwenPrompts {
  using Tokenizer = text::Qwen2Tokenizer;
  using Encoder = Qwen3ForCausalLM;
  static constexpr const char* block = "encode_prompt";
  static constexpr std::array<int64_t, 3> layers{9, 18, 27};
  // As a user's message.
  static text::TokenizedPrompt encode(const Tokenizer& tokenizer, const std::string& text,
                                      const std::string& field, int64_t length);
};
struct MistralPrompts {
  using Tokenizer = text::MistralTokenizer;
  using Encoder = Mistral3ForConditionalGeneration;
  static constexpr const char* block = "encode_prompt_by_mistral";
  static constexpr std::array<int64_t, 3> layers{10, 20, 30};
  // After the pipeline's words of the system, without places for images.
  static text::TokenizedPrompt encode(const Tokenizer& tokenizer, const std::string& text,
                                      const std::string& field, int64_t length);
};

// Prompts -> what some layers of a language model make of each in a conversation, {B, T, states *
// hidden_size}, one row per image, for each condition that the guider asks for (reference:
// _get_qwen3_prompt_embeds, _get_mistral_3_small_prompt_embeds). Padding has states, too, which the
// model reads.
template <class Prompts>
class EncodePrompt final : public Block {
 public:
  Component<typename Prompts::Tokenizer> tokenizer{this, "tokenizer"};
  Component<typename Prompts::Encoder> text_encoder{this, "text_encoder"};
  Described<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  Config<std::vector<int64_t>> out_layers{this, blocks::text_encoder_out_layers};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};

  explicit EncodePrompt(Trigger trigger)
      : Block(Prompts::block, Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

extern template class EncodePrompt<QwenPrompts>;
extern template class EncodePrompt<MistralPrompts>;

}  // namespace omnirt::flux2
