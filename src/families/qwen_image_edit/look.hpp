#pragma once
#include <string>
#include <vector>

#include "blocks/qwen2_vl_image.hpp"
#include "blocks/qwen_image_prompt.hpp"
#include "blocks/slots.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "text/qwen2_tokenizer.hpp"

namespace omnirt::qwen_image_edit {

inline constexpr Slot<std::vector<io::Image>> image_reference{
    "image_reference", "further images to go by", {}};
inline constexpr Slot<Tensor> image_tokens{
    "image_tokens", "what the text encoder sees of the images", {"1", "N", "D"}};
inline constexpr Slot<Tensor> image_token_counts{
    "image_token_counts", "how many tokens each image is", {"images"}};

// The images as the text encoder's vision tower sees them. `pixels`: about how many of each.
class LookAtImages : public Block {
 public:
  Component<Qwen25VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Component<blocks::Qwen2VLImageProcessor> processor{this, "processor"};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  Output<Tensor> tokens{this, image_tokens};
  Output<Tensor> counts{this, image_token_counts};

  LookAtImages(std::string name, int64_t pixels, Trigger trigger)
      : Block(std::move(name), Stage::prepare_conditions, Guidance::shared, std::move(trigger)),
        pixels_(pixels) {}
  void run(Frame& frame) const override;
  // The processor must make patches as the tower takes them.
  void check_loaded(Checks& checks) const override;

 protected:
  // What it sees of an image in RGB, before its processor resizes it.
  virtual io::Image seen(Frame& frame, const io::Image& given) const;

 private:
  int64_t pixels_;
};

// What is put around a prompt: the instruction, and how images are named in it.
struct EditTemplate {
  bool numbered = false;  // "image 1: ", in the model's word, before each
};

// Prompts within the model's instruction, with what is seen of the images -> the last states of the
// language model, one row per image (reference: QwenImageEditPipeline._get_qwen_prompt_embeds,
// QwenImageEditPlusPipeline's).
class EncodeEdit final : public Block {
 public:
  Component<text::Qwen2Tokenizer> tokenizer{this, "tokenizer"};
  Component<Qwen25VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<Tensor> tokens{this, image_tokens};
  Input<Tensor> counts{this, image_token_counts};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> embeds_mask{this, blocks::prompt_embeds_mask};

  EncodeEdit(std::string name, EditTemplate form, Trigger trigger)
      : Block(std::move(name), Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)),
        form_(form) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;

 private:
  // {1, T, D}.
  Tensor states(Frame& frame, const std::string& text) const;

  EditTemplate form_;
};

}  // namespace omnirt::qwen_image_edit
