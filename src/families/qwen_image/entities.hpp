#pragma once
#include "blocks/entities.hpp"
#include "blocks/qwen_image_prompt.hpp"
#include "nn/network.hpp"

namespace omnirt::qwen_image {

inline constexpr Slot<Tensor> entity_embeds{
    "entity_embeds", "what the entities' prompts mean, one after the other", {"B", "E", "D"}};
inline constexpr Slot<Tensor> text_ids{
    "text_ids", "the place of each token in its text, the prompt's last", {"1", "T'"}};
inline constexpr Slot<Tensor> attention_bias{
    "attention_bias", "which token looks at which: 0, else -infinity", {"B'", "N", "N"}};

// Several prompts, each for the part of the image that its mask shows (EliGen, Zhang et al. 2025,
// arXiv 2501.01097; DiffSynth-Studio QwenImageUnit_EntityControl, process_entity_masks): texts look
// at themselves, and they and the image's tokens in their mask at each other; the prompt goes with
// all of the image. A token is in a mask where any of its latents is.
class PlaceEntities final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Described<nn::Network> controlnet{this, "controlnet"};
  Described<io::Image> context_image{this, "context_image"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> on_negative{this, keys::entities_on_negative};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Input<std::vector<std::string>> entity_prompts{this, "entity_prompts",
                                                 "what the parts of the image show"};
  Input<std::vector<io::Image>> entity_masks{
      this, "entity_masks", "where: white in a mask an entity, one for each of entity_prompts"};
  Input<Tensor> prompt_embeds{this, slots::prompt_embeds};
  OptionalInput<Tensor> embeds_mask{this, blocks::prompt_embeds_mask.name,
                                    blocks::prompt_embeds_mask.help};
  Output<Tensor> entities{this, entity_embeds};
  Output<Tensor> ids{this, text_ids};
  Output<Tensor> bias{this, attention_bias};

  PlaceEntities();
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  // {E, L}: 1 where a token is in the mask.
  Tensor token_masks(Frame& frame) const;
};

}  // namespace omnirt::qwen_image
