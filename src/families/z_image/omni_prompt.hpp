#pragma once
#include "blocks/prompt_tokens.hpp"
#include "families/z_image/encode_prompt.hpp"
#include "io/image.hpp"
#include "runtime/value.hpp"

namespace omnirt::z_image {

inline constexpr Slot<std::vector<io::Image>> image_reference{
    "image_reference", "further images to go by", {}};
inline constexpr Slot<std::vector<Value>> captions{
    "captions", "what the texts around the prompt mean, before each image and after all"};

// A message of Omni's, cut where its images are: a text before each of them, the last of which
// holds the prompt, and one behind the image that is made (reference:
// ZImageOmniPipeline._encode_prompt).
struct OmniMessage {
  size_t images = 0;  // to go by
  // Around the prompt.
  std::string before, after;
  // The other texts, in their order; without images there are none.
  std::vector<std::string> others;

  explicit OmniMessage(size_t count);
  // Of a prompt.
  blocks::Encode encode(const text::Qwen2Tokenizer& tokenizer, int64_t length) const;
};

// Prompts -> what the last layer but one of a language model makes of each with what is around it,
// {B, T, hidden_size}, as z_image::EncodePrompt.
class EncodeOmniPrompt final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen3ForCausalLM> text_encoder{this, "text_encoder"};
  Described<ZImageTransformer2DModel> transformer{this, "transformer"};
  Config<int64_t> length{this, keys::max_sequence_length};
  OptionalInput<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> mask{this, prompt_attention_mask};

  EncodeOmniPrompt() : Block("encode_prompt", Stage::prepare_conditions, Guidance::per_condition) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  // A prompt that does not fit is cut; the warning quotes what is lost.
  void check_loaded(Checks& checks) const override;
};

// The texts around the prompts, which are the same for all.
class EncodeCaptions final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen3ForCausalLM> text_encoder{this, "text_encoder"};
  Config<int64_t> length{this, keys::max_sequence_length};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  Output<std::vector<Value>> texts{this, captions};

  explicit EncodeCaptions(Trigger trigger)
      : Block("encode_captions", Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

}  // namespace omnirt::z_image
