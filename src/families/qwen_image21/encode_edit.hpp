#pragma once
#include "families/qwen_image21/encode_prompt.hpp"
#include "families/qwen_image21/look.hpp"
#include "families/qwen_image21/places.hpp"
#include "nn/autoencoder.hpp"

namespace omnirt::qwen_image21 {

// Prompts behind the images to go by -> the states of the prompts' tokens alone, as EncodePrompt
// gives them, for each condition that the guider asks for; and where these, the images' and those
// of the image that is made are. The images' own are replaced by their latents.
class EncodeEdit final : public Block {
 public:
  Component<text::Qwen2Tokenizer> processor{this, "processor"};
  Component<Qwen3VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<Tensor> tokens{this, image_tokens};
  Input<Tensor> grids{this, image_grids};
  Output<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Output<Tensor> embeds_mask{this, blocks::prompt_embeds_mask};
  Output<Tensor> ids{this, prefix_ids};
  Output<Tensor> mask{this, prefix_mask};
  Output<Tensor> of_sample{this, sample_ids};

  explicit EncodeEdit(Trigger trigger)
      : Block("encode_prompt_with_images", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;

 private:
  // {1, T, D}; sets after how many of the text's tokens each image is.
  Tensor states(Frame& frame, const std::string& text, std::vector<int64_t>& before) const;
};

}  // namespace omnirt::qwen_image21
